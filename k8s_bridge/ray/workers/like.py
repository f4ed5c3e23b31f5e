"""What a RayCluster says of its own workers, from which those of a job are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.ray_views import RayCluster

_TOKEN_MODE = "token"  # noqa: S105  # a mode's name
_TOKEN_KEY = "auth_token"  # noqa: S105  # a key's name
_GCS_PORT = "6379"
_RECONNECT, _RECONNECT_SECONDS = "RAY_gcs_rpc_server_reconnect_timeout_s", "600"
"""For how long a raylet looks for its head before it ends; by itself for 60 s."""
_FOREIGN = ("ray.io/", "kueue.x-k8s.io/")
"""Labels and annotations by which KubeRay, the autoscaler and Kueue would take the pods for theirs."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """The template of one worker group, and how the head is joined."""

    cluster: str
    namespace: str
    address: str
    """host:port of the head's GCS."""
    metadata: Json = field(default_factory=dict)
    spec: Json = field(default_factory=dict)
    """Of the pod."""
    params: Mapping[str, str] = field(default_factory=dict)
    """rayStartParams."""
    env: tuple[Json, ...] = ()
    """What KubeRay adds to each of its containers and a worker cannot do without."""


def like_of(cluster: RayCluster, *, group: str = "", address: str = "") -> Like | None:
    """From the named worker group, the first, or the head; None when there is no such group, or no image.

    `address` is used in place of the head's Service.
    """
    groups = cluster.spec.get("workerGroupSpecs") or ()
    found = next((one for one in groups if group in ("", one.get("groupName"))), None)
    if found is None and group:
        return None
    source: Json = found or cluster.spec.get("headGroupSpec") or {}
    template: Json = source.get("template") or {}
    spec: Json = template.get("spec") or {}
    if not spec.get("containers"):
        return None
    meta = cluster.metadata
    return Like(
        cluster=meta.name,
        namespace=meta.namespace,
        address=address or _head(cluster),
        metadata={kind: _ours(template, kind) for kind in ("labels", "annotations")},
        spec=spec,
        params=dict(source.get("rayStartParams") or {}) if found else {},
        env=(*_auth(cluster), *_patience(cluster, spec["containers"][0])),
    )


def _head(cluster: RayCluster) -> str:
    meta, status = cluster.metadata, cluster.status
    service = status.head.service_name or f"{meta.name}-head-svc"
    return f"{service}.{meta.namespace}.svc.cluster.local:{_gcs_port(cluster)}"


def _gcs_port(cluster: RayCluster) -> str:
    head: Json = cluster.spec.get("headGroupSpec") or {}
    return str((head.get("rayStartParams") or {}).get("port") or _GCS_PORT)


def _ours(template: Json, kind: str) -> dict[str, str]:
    found = (template.get("metadata") or {}).get(kind) or {}
    return {key: value for key, value in found.items() if not key.startswith(_FOREIGN)}


def _patience(cluster: RayCluster, container: Json) -> tuple[Json, ...]:
    """A head whose memory outlives it is waited for as long as KubeRay has its own workers wait."""
    tolerant = cluster.spec.get("gcsFaultToleranceOptions") is not None
    marked = cluster.metadata.annotations.get("ray.io/ft-enabled", "").lower() == "true"
    given = [one.get("name") for one in container.get("env") or ()]
    if not (tolerant or marked) or _RECONNECT in given:
        return ()
    return ({"name": _RECONNECT, "value": _RECONNECT_SECONDS},)


def _auth(cluster: RayCluster) -> tuple[Json, ...]:
    options: Json = cluster.spec.get("authOptions") or {}
    if options.get("mode") != _TOKEN_MODE:
        return ()
    secret = {"name": cluster.metadata.name, "key": _TOKEN_KEY}
    return (
        {"name": "RAY_AUTH_MODE", "value": _TOKEN_MODE},
        {"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": secret}},
    )
