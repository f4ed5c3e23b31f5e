"""The status of a RayCluster, read off its pods. Pure: `now` is a metav1.Time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.job_render import is_ready, phase
from k8s_bridge.sandbox.controllers.kuberay.cluster_pods import endpoints, replicas
from k8s_bridge.sandbox.controllers.kuberay.names import NODE_TYPE_LABEL, head_service
from k8s_bridge.sandbox.controllers.podspec import requests
from k8s_bridge.sandbox.controllers.quantity import text

READY, SUSPENDED = "ready", "suspended"
_GPU, _TPU = "nvidia.com/gpu", "google.com/tpu"
_ORDER = ("HeadPodReady", "RayClusterProvisioned", "RayClusterSuspended", "RayClusterSuspending")
_PROVISIONING = "RayCluster Pods are being provisioned for first time"


class Suspension(StrEnum):
    """How far a suspension has come, by the conditions."""

    NONE = ""
    SUSPENDING = "RayClusterSuspending"
    SUSPENDED = "RayClusterSuspended"


def suspension(cluster: Json) -> Suspension:
    """By the conditions that the cluster has."""
    for stage in (Suspension.SUSPENDING, Suspension.SUSPENDED):
        if conditions.is_true(cluster, stage):
            return stage
    return Suspension.NONE


def status(cluster: Json, pods: Sequence[Json], *, now: str) -> Json:
    """The status that the cluster is to have."""
    old = cluster.get("status") or {}
    head = next((p for p in pods if _type(p) == "head"), None)
    new = old | {
        **_counts(cluster, pods),
        **_desired(cluster),
        "observedGeneration": cluster["metadata"]["generation"],
        "endpoints": endpoints(),
        "head": _head(cluster, head),
        "conditions": _conditions(cluster, pods, head, now=now),
    }
    if state := _state(cluster, pods):
        new["state"] = state
    if new == old:
        return old
    times = dict(old.get("stateTransitionTimes") or {})
    if new.get("state") and new["state"] != old.get("state"):
        times[new["state"]] = now
    return new | {"lastUpdateTime": now} | ({"stateTransitionTimes": times} if times else {})


def _type(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(NODE_TYPE_LABEL, ""))


def _all_ready(pods: Sequence[Json]) -> bool:
    return bool(pods) and all(phase(p) == "Running" and is_ready(p) for p in pods)


def _state(cluster: Json, pods: Sequence[Json]) -> str:
    wanted = 1 + sum(map(replicas, cluster["spec"].get("workerGroupSpecs") or ()))
    if cluster["spec"].get("suspend") and not pods:
        return SUSPENDED
    return READY if len(pods) == wanted and _all_ready(pods) else ""


def _counts(cluster: Json, pods: Sequence[Json]) -> Json:
    groups = cluster["spec"].get("workerGroupSpecs") or ()
    workers = [p for p in pods if _type(p) == "worker"]
    counts = {
        "readyWorkerReplicas": sum(map(is_ready, workers)),
        "availableWorkerReplicas": sum(phase(p) == "Running" for p in workers),
        "desiredWorkerReplicas": sum(map(replicas, groups)),
        "minWorkerReplicas": sum(g.get("minReplicas", 0) for g in groups if not g.get("suspend")),
        "maxWorkerReplicas": sum(g.get("maxReplicas", 0) for g in groups if not g.get("suspend")),
    }
    known = cluster.get("status") or {}
    return {name: count for name, count in counts.items() if count or name in known}


def _desired(cluster: Json) -> Json:
    spec = cluster["spec"]
    total: Counter[str] = Counter(requests(spec["headGroupSpec"]["template"]["spec"]))
    for group in spec.get("workerGroupSpecs") or ():
        for name, amount in requests(group["template"]["spec"]).items():
            total[name] += amount * replicas(group)
    return {
        "desiredCPU": text("cpu", total["cpu"]),
        "desiredMemory": text("memory", total["memory"]),
        "desiredGPU": text(_GPU, total[_GPU]),
        "desiredTPU": text(_TPU, total[_TPU]),
    }


def _head(cluster: Json, head: Json | None) -> Json:
    found = {"serviceName": head_service(cluster["metadata"]["name"])}
    if head is not None:
        found["podName"] = head["metadata"]["name"]
        if ip := (head.get("status") or {}).get("podIP"):
            found |= {"podIP": ip, "serviceIP": ip}
    return found


def _conditions(cluster: Json, pods: Sequence[Json], head: Json | None, *, now: str) -> list[Json]:
    known = (cluster.get("status") or {}).get("conditions") or ()
    kept = list(known)
    for condition in (_head_ready(head), *_stages(cluster, pods)):
        kept = conditions.with_set(kept, condition, now=now, order=_ORDER)
    return kept


def _head_ready(head: Json | None) -> Json:
    if head is None:
        return _condition("HeadPodReady", "False", "HeadPodNotFound", "Head Pod not found")
    ready = conditions.find(head, "Ready")
    if ready is None:
        return _condition("HeadPodReady", "False", "Unknown", "")
    reason, message = ready.get("reason", ""), ready.get("message", "")
    if ready["status"] == "True":
        return _condition("HeadPodReady", "True", reason or "HeadPodRunningAndReady", message)
    for container in head["status"].get("containerStatuses") or ():
        for stage in ("waiting", "terminated"):
            if (told := container["state"].get(stage)) and reason == "ContainersNotReady":
                why = f"{message}; {container['name']}: {told.get('message', '')}"
                return _condition("HeadPodReady", "False", told["reason"], why)
    return _condition("HeadPodReady", "False", reason or "Unknown", message)


def _stages(cluster: Json, pods: Sequence[Json]) -> Iterator[Json]:
    stage, wanted = suspension(cluster), bool(cluster["spec"].get("suspend"))
    if stage is not Suspension.SUSPENDED and not conditions.is_true(cluster, "RayClusterProvisioned"):
        yield _provisioned(pods)
    if stage is Suspension.NONE:
        yield _condition(Suspension.SUSPENDED, "False", Suspension.SUSPENDED, "")
        yield _condition(Suspension.SUSPENDING, str(wanted), Suspension.SUSPENDING, "")
    elif stage is Suspension.SUSPENDING and not pods:
        text_ = "RayCluster has been suspended"
        yield _condition("RayClusterProvisioned", "False", "RayClusterPodsProvisioning", text_)
        yield _condition(Suspension.SUSPENDING, "False", Suspension.SUSPENDING, "")
        yield _condition(Suspension.SUSPENDED, "True", Suspension.SUSPENDED, "")
    elif stage is Suspension.SUSPENDED and not wanted:
        yield _condition(Suspension.SUSPENDED, "False", Suspension.SUSPENDED, "")


def _provisioned(pods: Sequence[Json]) -> Json:
    if _all_ready(pods):
        reason, text_ = "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time"
        return _condition("RayClusterProvisioned", "True", reason, text_)
    return _condition("RayClusterProvisioned", "False", "RayClusterPodsProvisioning", _PROVISIONING)


def _condition(type_: str, value: str, reason: str, message: str) -> Json:
    return {"type": str(type_), "status": value, "reason": str(reason), "message": message}
