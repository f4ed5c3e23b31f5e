"""What Kueue's webhooks do to jobs as they are created."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.kueue.workload import QUEUE_NAME


def suspend_new(new: Json, old: Json | None) -> Json:
    """A job with a queue name starts suspended, whatever its author wished."""
    if old is not None or not (new["metadata"].get("labels") or {}).get(QUEUE_NAME):
        return new
    return new | {"spec": new["spec"] | {"suspend": True}}


def guard_queue(new: Json, old: Json | None) -> Json:
    """A ClusterQueue stays until nobody holds its quota."""
    if old is not None:
        return new
    finalizers = ["kueue.x-k8s.io/resource-in-use"]
    return new | {"metadata": new["metadata"] | {"finalizers": finalizers}}
