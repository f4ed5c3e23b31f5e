"""What the bridge may do with jobs: pace, limits and policies of the mixing as a whole."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from api.v1alpha1.base import Model
from api.v1alpha1.duration import Duration

_CREATE_WORKERS = 8
_ORPHAN_GRACE = 3


def _workers(value: int) -> int:
    return value or _CREATE_WORKERS


def _grace(value: int) -> int:
    return value or _ORPHAN_GRACE


class DeletionPolicy(StrEnum):
    """What becomes of everything when the WorkloadMixing is deleted."""

    ORPHAN = "Orphan"
    DRAIN = "Drain"


class NoRequeuePolicy(StrEnum):
    """What becomes of a --no-requeue job whose capacity is taken away."""

    FAIL = "Fail"
    REQUEUE = "Requeue"


class RefusedJobPolicy(StrEnum):
    """What becomes of a job whose options cannot be met."""

    FAIL = "Fail"
    HOLD = "Hold"


class JobPolicy(Model):
    """Pace, limits and policies."""

    create_workers: Annotated[int, Field(ge=0, le=256), AfterValidator(_workers)] = _CREATE_WORKERS
    """Effects that run at a time. 0: the default."""
    enable_priority_sync: bool = False
    """Heeds wm:prio=N in job comments (wm:prio-applied=N tells), and shows Workloads' priorities in Slurm."""
    max_user_priority: Annotated[int, Field(ge=0, le=2_147_483_647)] = 0
    """Cap of priorities that users ask for with wm:prio=N, where enablePrioritySync is set. 0: no cap."""
    adopt_unheld: bool = False
    """Takes jobs of managed partitions that were submitted without --hold. (Of the mixing, not of slurmd.)"""
    provision_timeout: Annotated[timedelta, Duration(minimum="1s", maximum="7d")] = timedelta(minutes=15)
    """From admission until all nodes are registered; then quota is given back and it is tried again."""
    start_timeout: Annotated[timedelta, Duration(minimum="1s", maximum="7d")] = timedelta(minutes=10)
    """From release until Slurm starts the job; then it is held again and quota is given back."""
    requeue_limit: Annotated[int, Field(ge=0, le=1000)] = 10
    """How often eviction or loss may requeue a job before it is failed with the reason."""
    no_requeue_policy: NoRequeuePolicy = NoRequeuePolicy.FAIL
    """For --no-requeue jobs that lose their capacity: Fail with a reason, or Requeue all the same."""
    refused_job_policy: RefusedJobPolicy = RefusedJobPolicy.HOLD
    """For jobs that cannot be met: Hold with the reason as their comment, or Fail (cancel) with it."""
    drain_on_preemption: bool = False
    """Lets what runs on evicted nodes go on for the pods' terminationGracePeriodSeconds; see wm:signal."""
    cancel_orphaned_jobs: bool = False
    """Cancels a released job whose JobSet is gone. Otherwise it is requeued, as after any loss of nodes."""
    orphan_grace_ticks: Annotated[int, Field(ge=0, le=100), AfterValidator(_grace)] = _ORPHAN_GRACE
    """Polls in a row that must miss the JobSet before cancelOrphanedJobs acts. 0: the default."""
    failed_job_set_retention: Annotated[timedelta, Duration(maximum="7d", empty_is_zero=True)] = timedelta()
    """How long the JobSet of a failed job is kept, without quota. Empty or 0: not at all. At most 7d.

    Of a job array with a failed task: the JobSets that are left when its last task has ended.
    """
    deletion_policy: DeletionPolicy = DeletionPolicy.ORPHAN
    """On deletion of this resource: Orphan leaves jobs and JobSets as they are, Drain lets them end first."""
