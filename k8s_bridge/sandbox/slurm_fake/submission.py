"""Submitting: what slurmctld refuses at once, and the row that a job starts with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.slurm_fake import demand, options
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason
from k8s_bridge.sandbox.slurm_fake.options import Script


def submit(
    cluster: Cluster,
    description: Mapping[str, Any],
    *,
    user: str,
    script: Script,
    template: Mapping[str, Any],
) -> Job:
    """A new job. Raises SlurmError for what cannot be taken, with nothing changed."""
    record = options.record_fields(description, template=template)
    record.setdefault("partition", cluster.settings.partitions[0])
    needs = demand.read(record)
    held = bool(description.get("hold"))
    _check(cluster, record=record, needs=needs, held=held)
    tasks, limit = options.array_tasks(description["array"]) if description.get("array") else ([], 0)
    job_id = cluster.new_id()
    job = Job(
        job_id=job_id,
        user=user,
        record=record,
        demand=needs,
        run_time=script.run_time,
        exit_code=script.exit_code,
        priority=0 if held else 1,
        reason=Reason.HELD_USER if held else Reason.NONE,
        submit_time=int(cluster.now),
        eligible_time=demand.number(description, "begin_time") or 0,
        array_id=job_id if tasks else 0,
        array_limit=limit,
        tasks=tasks,
    )
    cluster.add(job)
    return job


def _check(cluster: Cluster, *, record: Mapping[str, Any], needs: demand.Demand, held: bool) -> None:
    if not set(record["partition"].split(",")) <= set(cluster.settings.partitions):
        raise SlurmError(Errno.PARTITION_NAME)
    if not cluster.known_features(record.get("features", "")):
        raise SlurmError(Errno.FEATURE)
    has_gres = any(node.gres for node in cluster.nodes.values())
    if not held and not has_gres and needs.per_node + needs.per_task + needs.per_job:
        raise SlurmError(Errno.NODE_CONFIGURATION)
