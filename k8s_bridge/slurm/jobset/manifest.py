"""The JobSet of one job, complete and ready to be created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.core.errors import Terminal
from k8s_bridge.slurm.jobset import metadata
from k8s_bridge.slurm.jobset.pod import pod_template
from k8s_bridge.slurm.jobset.policy import Policy
from k8s_bridge.slurm.jobset.resources import unmapped
from k8s_bridge.slurm.layout.types import Group, Layout
from k8s_bridge.slurm.model import Job

API_VERSION = "jobset.x-k8s.io/v1alpha2"
_BACKOFF_LIMIT = 6
"""Pods that may be lost by themselves (slurmd died, pod deleted) until the JobSet fails."""


def render_jobset(*, job: Job, layout: Layout, policy: Policy, slot: int | None = None) -> dict[str, Any]:
    """The manifest of a job, or of one slot of a job array.

    It is created once and its spec is never applied again.

    `suspend: true` stands for the moment of creation only: from then on Kueue owns the field, and a later
    apply of this manifest would stop a running job. What changes afterwards (annotations) is patched by
    itself; another shape means another JobSet. Raises TemplateError, or Terminal for an unmapped GRES.
    """
    refusal = unmapped(layout, slurmd=policy.slurmd)
    if refusal is not None:
        raise Terminal(refusal.text, reason="GresUnmapped")
    return {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "metadata": _metadata(job, layout, policy, slot),
        "spec": {
            "suspend": True,
            "failurePolicy": {"maxRestarts": 0},
            "replicatedJobs": _replicated(job, layout, policy, slot),
        },
    }


def render_components(
    components: Sequence[Job], layouts: Sequence[Layout], *, policy: Policy, shape: str
) -> dict[str, Any]:
    """The manifest of a heterogeneous job: the replicated jobs of all components, admitted as one.

    `shape` is the digest of all layouts. Raises as `render_jobset` does.
    """
    limits = [layout.time_limit for layout in layouts]
    longest = None if None in limits else max(filter(None, limits), default=0)
    alike = [replace(layout, time_limit=longest) for layout in layouts]
    rendered = render_jobset(job=components[0], layout=alike[0], policy=policy)
    rendered["metadata"]["annotations"][naming.SHAPE] = shape
    rendered["spec"]["replicatedJobs"] = [
        replicated
        for job, layout in zip(components, alike, strict=True)
        for replicated in _replicated(job, layout, policy, None)
    ]
    return rendered


def _replicated(job: Job, layout: Layout, policy: Policy, slot: int | None) -> list[dict[str, Any]]:
    component = "" if job.het_job_id is None else f"c{job.het_job_offset}"
    return [
        {
            "name": f"{component}g{index}",
            "replicas": 1,
            "template": {"spec": _job_spec(job, layout, group, policy, slot)},
        }
        for index, group in enumerate(layout.groups)
    ]


def _metadata(job: Job, layout: Layout, policy: Policy, slot: int | None) -> dict[str, Any]:
    owners = {"ownerReferences": [dict(owner) for owner in policy.owners]} if policy.owners else {}
    return {
        "name": naming.jobset_name(job.unit_id, cluster=policy.cluster.key, slot=slot),
        "namespace": policy.namespace,
        "labels": {**metadata.labels(job, policy=policy, slot=slot), **metadata.queue_labels(policy)},
        "annotations": metadata.first_annotations(job, layout=layout, policy=policy, slot=slot),
        **owners,
    }


def _job_spec(job: Job, layout: Layout, group: Group, policy: Policy, slot: int | None) -> dict[str, Any]:
    """An Indexed Job. A disruption costs nothing: the pod is replaced, and Slurm has requeued what ran."""
    seconds = metadata.deadline(layout, policy=policy, slot=slot)
    deadline = {} if seconds is None else {"activeDeadlineSeconds": seconds}
    return {
        "completionMode": "Indexed",
        "completions": group.count,
        "parallelism": group.count,
        "backoffLimit": _BACKOFF_LIMIT,
        **deadline,
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "Ignore",
                    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                }
            ]
        },
        "template": pod_template(job, layout=layout, group=group, policy=policy, slot=slot),
    }
