"""The pod template of a job's workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.v1alpha1.ray import RayWorker
from k8s_bridge.ray import shim
from k8s_bridge.ray.request import Request
from k8s_bridge.ray.workers.command import AGENT_PORT, SHIM_VARIABLE, script
from k8s_bridge.ray.workers.like import Json, Like

REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
_GRACE = 45
"""Seconds: at its end a raylet drains itself for 30."""
_SHM, _SHM_PATH = "ray-bridge-shm", "/dev/shm"  # noqa: S108  # a mount of the container
_HEALTH = "/api/local_raylet_healthz"
_NOT_OURS = frozenset({"RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME"})
"""By these the autoscaler would take the pods for its own."""


def pod_template(
    request: Request, *, like: Like, worker: RayWorker, token: str, labels: Json
) -> dict[str, Any]:
    """The group's template, with what makes it a worker of one job laid over it."""
    meta, spec = like.metadata, dict(like.spec)
    first, *others = spec["containers"]
    annotations = {**meta.get("annotations", {}), **_topology(request, worker)}
    volumes = list(spec.get("volumes") or ())
    if not _mounts_shm(first):
        volumes.append({"name": _SHM, "emptyDir": {"medium": "Memory", "sizeLimit": f"{request.memory}Mi"}})
    return {
        "metadata": {
            "labels": {**meta.get("labels", {}), **labels},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {
            **spec,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": _GRACE,
            "containers": [_container(first, request, like=like, worker=worker, token=token), *others],
            **({"volumes": volumes} if volumes else {}),
        },
    }


def _container(given: Json, request: Request, *, like: Like, worker: RayWorker, token: str) -> dict[str, Any]:
    mounts = list(given.get("volumeMounts") or ())
    if not _mounts_shm(given):
        mounts.append({"name": _SHM, "mountPath": _SHM_PATH})
    image = {"image": worker.image} if worker.image else {}
    kept = {key: value for key, value in given.items() if not key.endswith("Probe")}
    return {
        **kept,
        **image,
        "command": ["/bin/bash", "-c", "--"],
        "args": [script(request, like=like, token=token)],
        "env": _env(given.get("env") or (), like),
        "resources": _resources(request, worker, given.get("resources") or {}),
        "readinessProbe": {
            "httpGet": {"path": _HEALTH, "port": AGENT_PORT},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
            "failureThreshold": 10,
        },
        "securityContext": _security(given.get("securityContext") or {}, worker),
        "volumeMounts": mounts,
    }


def _env(given: Iterable[Json], like: Like) -> list[Json]:
    ours: tuple[Json, ...] = (
        *like.env,
        {"name": "RAY_CLUSTER_NAME", "value": like.cluster},
        {"name": "RAY_CLUSTER_NAMESPACE", "value": like.namespace},
        {"name": SHIM_VARIABLE, "value": shim.SOURCE},
    )
    taken = {one["name"] for one in ours} | _NOT_OURS
    return [*(one for one in given if one.get("name") not in taken), *ours]


def _resources(request: Request, worker: RayWorker, given: Json) -> dict[str, Any]:
    """Memory is limited to what Ray was told; CPU only where the group's own workers are limited, too."""
    cpu = {"cpu": f"{request.cpus}m"}
    fixed = {"memory": f"{request.memory}Mi"}
    if request.gpus:
        fixed[worker.gpu_resource_name] = str(request.gpus)
    limited = cpu if "cpu" in (given.get("limits") or {}) else {}
    return {"requests": cpu | fixed, "limits": limited | fixed}


def _security(given: Json, worker: RayWorker) -> dict[str, Any]:
    if worker.privileged:
        return {**given, "privileged": True}
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        **given,
    }


def _topology(request: Request, worker: RayWorker) -> Mapping[str, str]:
    if request.required_topology:
        return {REQUIRED_TOPOLOGY: request.required_topology}
    return {PREFERRED_TOPOLOGY: worker.preferred_topology} if worker.preferred_topology else {}


def _mounts_shm(container: Json) -> bool:
    mounts: Sequence[Json] = container.get("volumeMounts") or ()
    return any(mount.get("mountPath") == _SHM_PATH for mount in mounts)
