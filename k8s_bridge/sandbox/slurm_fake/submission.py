"""Submitting: what slurmctld refuses at once, and the row that a job starts with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from k8s_bridge.sandbox.slurm_fake import demand, dependency, ending, options, updates
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State
from k8s_bridge.sandbox.slurm_fake.options import Script

_GRES = "gpu"
"""GresTypes of slurm.conf."""


def submit(
    cluster: Cluster,
    description: Mapping[str, Any],
    *,
    user: str,
    script: Script,
    template: Mapping[str, Any],
) -> Job:
    """A new job. Raises SlurmError for what cannot be taken.

    Of a job that is not held and that no nodes could ever run a failed row stays.
    """
    record = options.record_fields(description, template=template)
    record["flags"] = options.flags(description)
    record.setdefault("partition", cluster.settings.partitions[0])
    _check(cluster, record=record)
    job = _row(cluster, description, record=record, user=user, script=script)
    cluster.add(job)
    if not job.held and not _ever_fits(cluster, job):
        ending.finish(cluster, job, State.FAILED, reason=Reason.BAD_CONSTRAINTS)
        raise SlurmError(Errno.NODE_CONFIGURATION)
    return job


def _row(
    cluster: Cluster, description: Mapping[str, Any], *, record: dict[str, Any], user: str, script: Script
) -> Job:
    tasks, limit = options.array_tasks(description["array"]) if description.get("array") else ([], 0)
    waits_for = dependency.read(record.get("dependency", ""), known=cluster.jobs.__contains__)
    held = bool(description.get("hold"))
    job_id = cluster.new_id()
    return Job(
        job_id=job_id,
        user=user,
        record=record,
        demand=demand.read(record),
        run_time=script.run_time,
        exit_code=script.exit_code,
        priority=0 if held else 1,
        reason=Reason.HELD_USER if held else Reason.NONE,
        dependency=waits_for,
        submit_time=int(cluster.now),
        eligible_time=demand.number(description, "begin_time") or 0,
        array_id=job_id if tasks else 0,
        array_limit=limit,
        tasks=tasks,
    )


def _check(cluster: Cluster, *, record: Mapping[str, Any]) -> None:
    if not set(record["partition"].split(",")) <= set(cluster.settings.partitions):
        raise SlurmError(Errno.PARTITION_NAME)
    if not cluster.known_features(record.get("features", "")):
        raise SlurmError(Errno.FEATURE)
    if record.get("licenses"):
        raise SlurmError(Errno.LICENSES)
    if record.get("resv_name"):
        raise SlurmError(Errno.RESERVATION)
    needs = demand.read(record)
    if any(gres.name != _GRES for gres in needs.per_node + needs.per_task + needs.per_job):
        raise SlurmError(Errno.GRES)
    updates.check_nodes(cluster, record.get("required_nodes", ""))


def _ever_fits(cluster: Cluster, job: Job) -> bool:
    """Whether the nodes that there are could run it if they were up and empty."""
    return demand.place(job.demand, [replace(node, shares={}) for node in cluster.able(job)]) is not None
