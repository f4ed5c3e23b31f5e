"""The subresources of pods that act instead of being stored: binding and eviction."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, conflict, not_found
from k8s_bridge.sandbox.apiserver.kinds import PODS
from k8s_bridge.sandbox.apiserver.requests import Target
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.clock import stamp

_EVICTED: Json = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
_CREATED: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def create(storage: Storage, target: Target, document: Json) -> Json:
    """Serve a POST on a subresource; 404 where there is none."""
    if target.kind is PODS and target.subresource == "eviction":
        _evict(storage, target, document)
    elif target.kind is PODS and target.subresource == "binding":
        _bind(storage, target, document)
    else:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    return _CREATED


def _evict(storage: Storage, target: Target, document: Json) -> None:
    pod = storage.get(PODS, target.namespace, target.name)
    told = [c for c in pod["status"].get("conditions") or () if c["type"] != _EVICTED["type"]]
    condition = _EVICTED | {"lastTransitionTime": stamp(storage.clock.now())}
    status = {"status": {"conditions": [*told, condition]}}
    storage.patch(PODS, target.namespace, target.name, status, subresource="status")
    options = document.get("deleteOptions") or {}
    storage.delete(
        PODS,
        target.namespace,
        target.name,
        uid=(options.get("preconditions") or {}).get("uid", ""),
        grace_seconds=options.get("gracePeriodSeconds"),
    )


def _bind(storage: Storage, target: Target, document: Json) -> None:
    pod = storage.find(PODS, target.namespace, target.name)
    if pod is None:
        raise not_found(PODS, target.name)
    node = (document.get("target") or {}).get("name", "")
    bound = pod["spec"].get("nodeName")
    if bound:
        why = f"pod {target.name} is already assigned to node {bound!r}"
        raise conflict(PODS, target.name, why=why)
    storage.patch(PODS, target.namespace, target.name, {"spec": {"nodeName": node}})
