"""Reasons with which Slurm withholds a released job although its nodes are there and free.

They show only after the release. Capacity cures none of them, so it goes back, and the job is tried again.
Reasons that pass with the next look of Slurm's scheduler (Priority, Resources, None) are not among them.
"""

from __future__ import annotations

from typing import NamedTuple

from k8s_bridge.slurm.model import Job

REQUEUE_DELAY = 300
"""Seconds: no cred_expire that delays a requeued job is longer (slurm.conf's default is 120)."""

_REASONS = frozenset(
    {
        "AccountNotAllowed",
        "DeadLine",
        "Dependency",
        "DependencyNeverSatisfied",
        "InvalidAccount",
        "InvalidQOS",
        "Licenses",
        "PartitionDown",
        "PartitionInactive",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "Reservation",
        "ReservationDeleted",
    }
)
_LIMITS = ("Assoc", "QOS", "Max")
"""How the names of limits of associations, QOS and users begin: AssocGrpCpuLimit, QOSMaxJobsPerUserLimit …"""
_OF_ONE_JOB = ("PerJob", "PerNode")
"""What is in the names of limits of a single job: no other job makes room for it."""


class Limit(NamedTuple):
    """Whose jobs a limit counts together: those of a user, of an account or of a QOS."""

    counts: str
    whose: str


def withholds(job: Job, *, now: float) -> bool:
    """Whether the reason of a released, pending job is one that its capacity cannot cure.

    A begin time that has come is shown as the reason until Slurm's scheduler looks at the job again.
    """
    if job.reason == "BeginTime":
        return job.eligible_time > now and not is_requeue_delay(job, now)
    return job.reason in _REASONS or job.reason.startswith(_LIMITS)


def is_requeue_delay(job: Job, now: float) -> bool:
    """Whether the job's begin time is the one that slurmctld itself sets at a requeue."""
    return bool(job.restart_count) and now < job.eligible_time <= now + REQUEUE_DELAY


def limit_of(reason: str, job: Job) -> Limit | None:
    """The limit that a reason tells of; None for a reason that no other job's end has to do with."""
    if not reason.startswith(_LIMITS) or any(word in reason for word in _OF_ONE_JOB):
        return None
    user, account, qos = limits_on(job)
    if reason.startswith("QOSGrp"):
        return qos
    return account if reason.startswith("AssocGrp") or "PerAccount" in reason else user


def limits_on(job: Job) -> tuple[Limit, Limit, Limit]:
    """The limits that count the job: its user's, its account's, its QOS's."""
    return Limit("user", str(job.user_id)), Limit("account", job.account), Limit("qos", job.qos)
