"""slurmctld's restart: what it remembers, and what it does to jobs pinned to nodes that are gone."""

from __future__ import annotations

from k8s_bridge.sandbox.slurm_fake import ending
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State


def restart(cluster: Cluster, *, clean: bool) -> None:
    """Up again; `clean` forgets everything, and living slurmds do not register again by themselves."""
    cluster.up = True
    if clean:
        for rows in (cluster.jobs, cluster.waiting, cluster.running, cluster.ended):
            rows.clear()
        cluster.nodes.clear()
    for job in tuple(cluster.jobs.values()):
        if job.state is State.PENDING and _pinned_to_nothing(cluster, job):
            ending.finish(cluster, job, State.NODE_FAIL, reason=Reason.NODE_DOWN)
    cluster.jobs_changed = cluster.nodes_changed = cluster.partitions_changed = int(cluster.now)


def _pinned_to_nothing(cluster: Cluster, job: Job) -> bool:
    last = job.record.get("required_nodes", "").split(",")[-1]
    return bool(last) and last not in cluster.nodes
