"""Updating a job: holds and releases, pins, begin time, texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.slurm_fake import demand, dependency, options
from k8s_bridge.sandbox.slurm_fake.cluster import ROOT, Cluster
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State

_WHILE_PENDING = frozenset({"begin_time", "constraints", "dependency"})


def update(
    cluster: Cluster,
    job_id: int,
    description: Mapping[str, Any],
    *,
    user: str,
    template: Mapping[str, Any],
) -> None:
    """Change a job as `user`.

    Raises SlurmError: with nothing changed, except for PARTITION_CONFIGURATION, where the change is made.
    """
    job = cluster.find(job_id)
    if job.over:
        raise SlurmError(Errno.JOB_OVER)
    if job.state is State.RUNNING and not description.keys().isdisjoint(_WHILE_PENDING):
        raise SlurmError(Errno.JOB_NOT_PENDING)
    fields = options.record_fields(description, template=template)
    _check_rights(job, description, user=user)
    _check_values(cluster, job, description, fields=fields)
    job.record.update(fields)
    for name in _cleared(description):
        job.record[name] = ""
    job.demand = demand.read(job.record)
    if "dependency" in description:
        job.dependency = dependency.read(description["dependency"], known=cluster.jobs.__contains__)
    _set_begin(job, description, now=int(cluster.now))
    _set_hold(job, description, user=user)
    cluster.file(job)
    if job.state is State.PENDING and not cluster.has_cpus_for(job):
        # slurmctld tries the changed job last: it complains of too small a partition, and keeps the change.
        raise SlurmError(Errno.PARTITION_CONFIGURATION)


def _check_rights(job: Job, description: Mapping[str, Any], *, user: str) -> None:
    if user == ROOT:
        return
    if user != job.user:
        raise SlurmError(Errno.FOREIGN_JOB)
    admin_held = job.held and job.reason is Reason.HELD_ADMIN
    raised = (demand.number(description, "priority") or 0) > max(job.priority, 1)
    if "admin_comment" in description or (admin_held and releases(description)) or raised:
        raise SlurmError(Errno.ACCESS_DENIED)


def _check_values(
    cluster: Cluster, job: Job, description: Mapping[str, Any], *, fields: Mapping[str, Any]
) -> None:
    if not set(fields.get("partition", job.record["partition"]).split(",")) <= set(
        cluster.settings.partitions
    ):
        raise SlurmError(Errno.PARTITION_NAME)
    if not cluster.known_features(fields.get("features", "")):
        raise SlurmError(Errno.FEATURE)
    pinned = fields.get(
        "required_nodes", job.record.get("required_nodes", "") if releases(description) else ""
    )
    check_nodes(cluster, pinned)
    if job.held and demand.number(description, "priority"):
        raise SlurmError(Errno.JOB_HELD)


def check_nodes(cluster: Cluster, listed: str) -> None:
    """Raises SlurmError for unknown names; as slurmctld 24.11 does, only the last one is looked up."""
    if listed and listed.rsplit(",", maxsplit=1)[-1] not in cluster.nodes:
        raise SlurmError(Errno.NODE_NAME)


def releases(description: Mapping[str, Any]) -> bool:
    """Whether an update asks for the release of a held job."""
    priority = description.get("priority")
    return description.get("hold") is False or (
        isinstance(priority, Mapping) and bool(priority.get("infinite"))
    )


def _cleared(description: Mapping[str, Any]) -> list[str]:
    names = ("required_nodes", "excluded_nodes")
    return [name for name in names if description.get(name) and not options.node_list(description[name])]


def _set_begin(job: Job, description: Mapping[str, Any], *, now: int) -> None:
    # 0 is "not given" to slurmctld: it changes nothing.
    if begin := demand.number(description, "begin_time"):
        job.eligible_time = max(begin, now)


def _set_hold(job: Job, description: Mapping[str, Any], *, user: str) -> None:
    if description.get("hold"):
        job.priority = 0
        job.reason = Reason.HELD_ADMIN if user == ROOT else Reason.HELD_USER
    elif releases(description) and job.held:
        job.priority = 1
        job.reason = Reason.NONE
        job.description = ""
