"""How jobs leave their nodes: done, cancelled, out of time, or back to the queue because a node is gone."""

from __future__ import annotations

from k8s_bridge.sandbox.slurm_fake.cluster import ROOT, Cluster
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State
from k8s_bridge.sandbox.slurm_fake.nodes import Node


def finish(cluster: Cluster, job: Job, state: State, *, reason: Reason = Reason.NONE) -> None:
    """Put a job into a final state; its nodes are free once they have completed."""
    now = cluster.now
    if job.shares and not job.over:
        job.completing_until = now + cluster.settings.completing
    leave_nodes(cluster, job)
    job.state, job.end_time = state, int(now)
    if not (job.held and job.reason is Reason.HELD_ADMIN):
        job.reason = reason
    cluster.file(job)


def cancel(cluster: Cluster, job_id: int, *, user: str) -> None:
    """Cancel a job, of an array every task. Raises SlurmError for an unknown, finished or foreign one."""
    job = cluster.find(job_id)
    if user not in (ROOT, job.user):
        raise SlurmError(Errno.ACCESS_DENIED)
    if job.het_offset:
        raise SlurmError(Errno.ACCESS_DENIED)
    jobs = list(cluster.array(job_id)) if job.array_id == job_id else cluster.together(job)
    if all(each.over for each in jobs):
        raise SlurmError(Errno.JOB_FINISHED)
    for each in jobs:
        if not each.over:
            finish(cluster, each, State.CANCELLED)


def node_failed(cluster: Cluster, node: Node, *, reason: str) -> None:
    """Set a node DOWN: what runs on it is requeued, or fails where the job does not want that."""
    node.down, node.reason, node.reason_time = True, reason, int(cluster.now)
    hit = [cluster.jobs[job_id] for job_id in node.shares]
    for job in [one for found in hit for one in cluster.together(found)]:
        if job.record.get("requeue", True):
            requeue(cluster, job)
        else:
            job.failed_node = node.name
            finish(cluster, job, State.NODE_FAIL, reason=Reason.NODE_DOWN)
    cluster.nodes_touched()


def requeue(cluster: Cluster, job: Job) -> None:
    """Back to the queue, held if it was; it may start again when its credential has expired."""
    now = int(cluster.now)
    leave_nodes(cluster, job)
    job.shares = ()
    job.state = State.PENDING
    if not job.held:
        job.reason = Reason.NONE
    job.restarts += 1
    job.submit_time = now
    job.eligible_time = now + int(cluster.settings.cred_expire) + 1
    job.start_time, job.ends_at = 0, 0.0
    cluster.file(job)


def leave_nodes(cluster: Cluster, job: Job) -> None:
    """Take a job's shares from its nodes."""
    for name in job.nodes:
        if (node := cluster.nodes.get(name)) and node.shares.pop(job.job_id, None):
            node.last_busy = int(cluster.now)
            if node.alive and not node.down:
                node.completing_until = cluster.now + cluster.settings.completing
    cluster.nodes_touched()
