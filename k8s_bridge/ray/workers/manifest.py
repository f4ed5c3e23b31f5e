"""The JobSet of one job's workers, complete and ready to be created."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from api.ray_views import RayJob
from api.v1alpha1.ray import RayWorker
from k8s_bridge.core import naming
from k8s_bridge.ray import names
from k8s_bridge.ray.request import Request
from k8s_bridge.ray.workers.like import Like
from k8s_bridge.ray.workers.overlay import overlaid
from k8s_bridge.ray.workers.pod import pod_template

API_VERSION = "jobset.x-k8s.io/v1alpha2"
_LOSSES = 4
"""Workers that may die by themselves, for each that there is, until the JobSet fails."""
_DIGEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The WorkloadMixing that the workers are made for, with what it lays over their pods."""

    mixing: str
    worker: RayWorker
    overlays: tuple[Mapping[str, Any], ...] = ()
    """Rendered pod templates, the last one on top."""


def shape_of(request: Request, *, like: Like, owner: Owner) -> str:
    """Digest of everything that workers are made from, but for the token."""
    parts = [asdict(request), asdict(like), owner.worker.document(), owner.overlays]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def render_workers(job: RayJob, request: Request, *, like: Like, owner: Owner, token: str) -> dict[str, Any]:
    """The manifest. It is created once; from then on Kueue owns `suspend`.

    The RayJob owns it, but does not control it: Kueue would take a controlled one for part of the RayJob,
    which it manages itself.
    """
    meta = job.metadata
    labels = {
        names.MANAGED_BY: names.MANAGER,
        names.RAY_JOB: naming.label_value(meta.name),
        names.RAY_JOB_UID: meta.uid,
        names.WORKLOADMIXING: naming.label_value(owner.mixing),
    }
    queue = {naming.QUEUE_NAME: request.queue, naming.PRIORITY_CLASS: request.priority_class}
    template = pod_template(request, like=like, worker=owner.worker, token=token, labels=labels)
    for overlay in owner.overlays:
        template = overlaid(template, overlay)
    return {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "metadata": {
            "name": names.jobset_name(meta.name),
            "namespace": meta.namespace,
            "labels": {**labels, **{key: value for key, value in queue.items() if value}},
            "annotations": {
                names.SHAPE: shape_of(request, like=like, owner=owner),
                names.TOKEN: token,
                names.RAY_JOB: meta.name,
            },
            "ownerReferences": [
                {"apiVersion": "ray.io/v1", "kind": RayJob.KIND, "name": meta.name, "uid": meta.uid}
            ],
        },
        "spec": {
            "suspend": True,
            "failurePolicy": {"maxRestarts": 0},
            "replicatedJobs": [
                {"name": "w", "replicas": 1, "template": {"spec": _job_spec(request.workers, template)}}
            ],
        },
    }


def _job_spec(count: int, template: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "backoffLimit": _LOSSES * count,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
            ]
        },
        "template": template,
    }
