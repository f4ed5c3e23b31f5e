"""The status of a pod at each stage of its life, as a kubelet reports it. Pure; times are metav1.Time."""

from __future__ import annotations

from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kubelet_runtime import ExitStatus

_ORDER = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_REPORTED = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def _status(pod: Json, values: dict[str, tuple[str, str, str]], *, now: str, **fields: Any) -> Json:
    """The status with conditions by type: (status, reason, message)."""
    status = dict(pod.get("status") or {}) | fields
    kept = status.get("conditions") or []
    generation = pod["metadata"].get("generation", 1)
    for type_, (value, reason, message) in values.items():
        condition: Json = {
            "type": type_,
            "status": value,
            "observedGeneration": generation,
            "lastProbeTime": None,
        }
        condition |= {k: v for k, v in (("reason", reason), ("message", message)) if v}
        kept = conditions.with_set(kept, condition, now=now, order=_ORDER)
    return status | {"conditions": kept, "observedGeneration": generation}


def _containers(pod: Json, state: Json, **fields: Any) -> list[Json]:
    old = {c["name"]: c for c in (pod.get("status") or {}).get("containerStatuses") or ()}
    empty = {"lastState": {}, "ready": False, "restartCount": 0, "started": False, "imageID": ""}
    return [
        empty
        | {"name": c["name"], "image": c.get("image", "")}
        | old.get(c["name"], {})
        | {"state": state}
        | fields
        for c in pod["spec"]["containers"]
    ]


def _unready(pod: Json) -> tuple[str, str, str]:
    names = " ".join(c["name"] for c in pod["spec"]["containers"])
    return ("False", "ContainersNotReady", f"containers with unready status: [{names}]")


def creating(pod: Json, *, host: str, now: str) -> Json:
    """The kubelet has taken the pod."""
    values = {
        "PodReadyToStartContainers": ("False", "", ""),
        "Initialized": ("True", "", ""),
        "Ready": _unready(pod),
        "ContainersReady": _unready(pod),
    }
    state = {"waiting": {"reason": "ContainerCreating"}}
    return _status(
        pod,
        values,
        now=now,
        phase="Pending",
        hostIP=host,
        hostIPs=[{"ip": host}],
        startTime=now,
        containerStatuses=_containers(pod, state),
    )


def waiting(pod: Json, *, reason: str, message: str, ip: str, now: str) -> Json:
    """The container cannot be started (yet)."""
    state = {"waiting": {"reason": reason, "message": message}}
    values = {"PodReadyToStartContainers": ("True", "", "")}
    containers = _containers(pod, state)
    return _status(pod, values, now=now, podIP=ip, podIPs=[{"ip": ip}], containerStatuses=containers)


def running(pod: Json, *, ready: bool, ip: str, started: str, now: str) -> Json:
    """The container runs, Ready or not."""
    verdict = ("True", "", "") if ready else _unready(pod)
    values = {
        "PodReadyToStartContainers": ("True", "", ""),
        "Ready": verdict,
        "ContainersReady": verdict,
    }
    state = {"running": {"startedAt": started}}
    containers = _containers(pod, state, ready=ready, started=True)
    return _status(
        pod, values, now=now, phase="Running", podIP=ip, podIPs=[{"ip": ip}], containerStatuses=containers
    )


def terminated(pod: Json, end: ExitStatus, *, started: str, now: str) -> Json:
    """The container has ended; the phase still says Running."""
    reason = "PodCompleted" if end.succeeded else "PodFailed"
    values = {"Ready": ("False", reason, ""), "ContainersReady": ("False", reason, "")}
    if end.succeeded:
        values["Initialized"] = ("True", reason, "")
    ended: Json = {
        "exitCode": end.code,
        "reason": end.reason,
        "startedAt": started,
        "finishedAt": now,
    }
    if end.message:
        ended["message"] = end.message
    containers = _containers(pod, {"terminated": ended}, ready=False, started=False)
    return _status(pod, values, now=now, containerStatuses=containers)


def ended(pod: Json, end: ExitStatus, *, now: str) -> Json:
    """The pod is Succeeded or Failed."""
    values = {"PodReadyToStartContainers": ("False", "", "")}
    return _status(pod, values, now=now, phase="Succeeded" if end.succeeded else "Failed")
