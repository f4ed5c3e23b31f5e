"""What is done to a whole array or to one of its tasks, as scontrol and scancel do it."""

from __future__ import annotations

from collections.abc import Iterator

from k8s_bridge.sandbox.slurm_fake import ending
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State


def rows(cluster: Cluster, job_id: int) -> Iterator[Job]:
    """The row of a job; of an array all of them. Raises SlurmError for an unknown id."""
    job = cluster.find(job_id)
    return cluster.array(job_id) if job.array_id == job_id else iter([job])


def hold(cluster: Cluster, job_id: int) -> None:
    """As root: nothing of it starts from now on. What runs stays held when it is requeued."""
    for job in list(rows(cluster, job_id)):
        if not job.over:
            job.priority, job.reason = 0, Reason.HELD_ADMIN
            cluster.file(job)


def release(cluster: Cluster, job_id: int) -> None:
    """As root."""
    for job in list(rows(cluster, job_id)):
        if not job.over and job.held:
            job.priority, job.reason = 1, Reason.NONE
            cluster.file(job)


def requeue(cluster: Cluster, job_id: int, *, task: int | None) -> None:
    """As root: what runs of it goes back to the queue."""
    for job in list(rows(cluster, job_id)):
        if job.state is State.RUNNING and task in {None, job.array_task}:
            ending.requeue(cluster, job)


def cancel_task(cluster: Cluster, job_id: int, *, task: int) -> None:
    """End one task. Raises SlurmError when there is none of that number that is not over."""
    array = cluster.find(job_id)
    if task in array.tasks and len(array.tasks) > 1:
        array.tasks.remove(task)
        cluster.file(array)
        return
    for job in list(rows(cluster, job_id)):
        if not job.over and task in {job.array_task, *job.tasks}:
            ending.finish(cluster, job, State.CANCELLED)
            return
    raise SlurmError(Errno.JOB_FINISHED)
