"""The pods and the Service that a RayCluster becomes. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.api import owner_reference
from k8s_bridge.sandbox.controllers.kuberay.names import (
    CLUSTER_LABEL,
    GROUP_LABEL,
    NODE_TYPE_LABEL,
    head_service,
    pod_prefix,
)
from k8s_bridge.sandbox.controllers.quantity import parse

VERSION = "v1.6.0"
HEAD_GROUP = "headgroup"
_CREATED_BY = {
    "app.kubernetes.io/created-by": "kuberay-operator",
    "app.kubernetes.io/name": "kuberay",
}
_FIXED = {"block": "", "dashboard-agent-listen-port": "52365", "metrics-export-port": "8080"}
_PORTS = {"client": 10001, "dashboard": 8265, "gcs-server": 6379, "metrics": 8080, "serve": 8000}
_GCS = 6379


def service(cluster: Json) -> Json:
    """The head's Service: without an address of its own, it leads to the pod."""
    name = cluster["metadata"]["name"]
    labels = _marks(name, "head", HEAD_GROUP)
    ports = [{"name": port, "port": number, "protocol": "TCP"} for port, number in _PORTS.items()]
    return {
        "metadata": {
            "name": head_service(name),
            "namespace": cluster["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {"clusterIP": "None", "selector": labels, "ports": ports},
    }


def head(cluster: Json) -> Json:
    """The head's pod."""
    group = cluster["spec"]["headGroupSpec"]
    parameters = {"head": "", **group.get("rayStartParams", {})}
    return _pod(cluster, group, node_type="head", group_name=HEAD_GROUP, parameters=parameters)


def worker(cluster: Json, group: Json) -> Json:
    """A pod of a worker group."""
    meta = cluster["metadata"]
    address = f"{head_service(meta['name'])}.{meta['namespace']}.svc.cluster.local:{_GCS}"
    parameters = {"address": address, **group.get("rayStartParams", {})}
    return _pod(cluster, group, node_type="worker", group_name=group["groupName"], parameters=parameters)


def replicas(group: Json) -> int:
    """How many pods a worker group is to have."""
    if group.get("suspend"):
        return 0
    least, most = group.get("minReplicas", 0), group.get("maxReplicas", 2**31)
    return int(min(max(group.get("replicas", 0), least), most)) * int(group.get("numOfHosts", 1))


def _pod(
    cluster: Json, group: Json, *, node_type: str, group_name: str, parameters: Mapping[str, str]
) -> Json:
    meta, template = cluster["metadata"], group["template"]
    owner = meta["name"] if node_type == "head" else f"{meta['name']}-{group_name}"
    given = template.get("metadata") or {}
    marks = _marks(meta["name"], node_type, group_name)
    tolerant = cluster["spec"].get("gcsFaultToleranceOptions")
    annotations = {
        **(given.get("annotations") or {}),
        "ray.io/ft-enabled": str(tolerant is not None).lower(),
        "ray.io/kuberay-version": VERSION,
    }
    if node_type == "head":
        annotations["ray.io/upgrade-strategy-recreate-hash"] = _digest(cluster["spec"])
    return {
        "metadata": {
            "generateName": pod_prefix(owner, node_type),
            "namespace": meta["namespace"],
            "labels": (given.get("labels") or {}) | marks,
            "annotations": annotations,
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": _spec(template["spec"], parameters, [*_fault_tolerance(node_type, meta["uid"], tolerant)]),
    }


def _marks(cluster: str, node_type: str, group: str) -> dict[str, str]:
    return _CREATED_BY | {
        CLUSTER_LABEL: cluster,
        GROUP_LABEL: group,
        "ray.io/identifier": f"{cluster}-{node_type}",
        "ray.io/is-ray-node": "yes",
        NODE_TYPE_LABEL: node_type,
    }


def _digest(spec: Json) -> str:
    text = json.dumps(spec, sort_keys=True)
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest().upper()[:32]


def _fault_tolerance(node_type: str, uid: str, options: Json | None) -> Iterator[Json]:
    if options is not None and node_type == "head":
        storage = options.get("externalStorageNamespace") or uid
        yield {"name": "RAY_external_storage_namespace", "value": storage}
        yield {"name": "RAY_REDIS_ADDRESS", "value": options["redisAddress"]}
    elif options is not None:
        yield {"name": "RAY_gcs_rpc_server_reconnect_timeout_s", "value": "600"}


def _spec(spec: Json, parameters: Mapping[str, str], more: Iterable[Json]) -> Json:
    ray, *others = spec["containers"]
    command = "ray start " + " ".join(_options(ray, parameters)) + " "
    started = ray | {
        "command": ["/bin/bash", "-c", "--"],
        "args": [f"ulimit -n 65536; {command}"],
        "env": [*(ray.get("env") or ()), *more, *_environment(command)],
    }
    return spec | {"containers": [started, *others]}


def _options(ray: Json, parameters: Mapping[str, str]) -> Iterator[str]:
    limit = ((ray.get("resources") or {}).get("limits") or {}).get("memory")
    memory = {"memory": str(parse("memory", limit))} if limit else {}
    for name, value in sorted((_FIXED | memory | dict(parameters)).items()):
        if value != "":
            yield f" --{name}={value} "
        elif name in ("head", "block"):
            yield f" --{name} "


def _environment(command: str) -> list[Json]:
    fields = {
        "RAY_CLUSTER_NAME": f"metadata.labels['{CLUSTER_LABEL}']",
        "RAY_CLUSTER_NAMESPACE": "metadata.namespace",
        "RAY_CLOUD_INSTANCE_ID": "metadata.name",
        "RAY_NODE_TYPE_NAME": f"metadata.labels['{GROUP_LABEL}']",
    }
    referred: list[dict[str, Any]] = [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in fields.items()
    ]
    fixed = {
        "KUBERAY_GEN_RAY_START_CMD": command,
        "RAY_PORT": str(_GCS),
        "RAY_USAGE_STATS_KUBERAY_IN_USE": "1",
    }
    return [*referred, *({"name": name, "value": value} for name, value in fixed.items())]


def endpoints() -> dict[str, str]:
    """The status.endpoints of a RayCluster."""
    return {name: str(port) for name, port in _PORTS.items()}
