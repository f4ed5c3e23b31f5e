"""What pod templates may say about a job: the names that `{{ … }}` knows."""

from __future__ import annotations

from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.core.plain import printable
from k8s_bridge.slurm.jobset.policy import Policy
from k8s_bridge.slurm.layout.spread import gpus_of
from k8s_bridge.slurm.layout.types import Group, Layout
from k8s_bridge.slurm.model import Job

LONGEST = 1024
"""Characters of a text of a user: all annotations of a pod together may have 256 KiB."""


def template_facts(
    job: Job, *, layout: Layout, group: Group, policy: Policy, slot: int | None = None
) -> dict[str, Any]:
    """The job, the node that a pod becomes, and where it lives. Memory in MiB, time in minutes.

    What users wrote is cut to LONGEST characters and has no control characters: a pod with it can be made.
    """
    return {
        "job": {
            "id": job.unit_id,
            "name": _told(job.name),
            "user": _told(job.user_name),
            "user_id": job.user_id,
            "account": _told(job.account),
            "qos": _told(job.qos),
            "wckey": _told(job.wckey),
            "partition": job.partition,
            "comment": _told(job.comment),
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


def _told(text: str) -> str:
    return printable(text[:LONGEST])
