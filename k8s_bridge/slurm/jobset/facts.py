"""What pod templates may say about a job: the names that `{{ … }}` knows."""

from __future__ import annotations

from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.slurm.jobset.policy import Policy
from k8s_bridge.slurm.layout.spread import gpus_of
from k8s_bridge.slurm.layout.types import Group, Layout
from k8s_bridge.slurm.model import Job


def template_facts(
    job: Job, *, layout: Layout, group: Group, policy: Policy, slot: int | None = None
) -> dict[str, Any]:
    """The job, the node that a pod becomes, and where it lives. Memory in MiB, time in minutes."""
    return {
        "job": {
            "id": job.unit_id,
            "name": job.name,
            "user": job.user_name,
            "user_id": job.user_id,
            "account": job.account,
            "qos": job.qos,
            "wckey": job.wckey,
            "partition": job.partition,
            "comment": job.comment,
            "features": layout.features,
            "nodes": layout.nodes,
            "time_limit": layout.time_limit,
        },
        "node": {
            "cpus": group.shape.cpus,
            "memory": group.shape.memory,
            "gpus": gpus_of(group.shape.gres),
            "tasks": group.tasks,
        },
        "jobset": naming.jobset_name(job.unit_id, cluster=policy.cluster.key, slot=slot),
        "namespace": policy.namespace,
        "mixing": policy.mixing,
        "cluster": policy.cluster.name,
    }
