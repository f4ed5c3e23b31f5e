"""Where each shared cluster's head is, and with which token it wants to be asked."""

from __future__ import annotations

import base64
import binascii
import time

import msgspec

from api.ray_views import RayCluster
from api.views import Object
from k8s_bridge.core.errors import Terminal
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray.head import Address
from k8s_bridge.runtime.redact import Redactor

_DASHBOARD = "8265"
_FRESH = 60.0
"""Seconds for which a token is taken to be still the same."""


class Secret(Object, frozen=True):
    """v1 Secret: base64 values."""

    GVR = ("", "v1", "secrets")
    KIND = "Secret"

    data: dict[str, str] = msgspec.field(default_factory=dict)


class Addresses:
    """Reads tokens from the Secrets that KubeRay makes; they never leave for another host than that head."""

    def __init__(self, kube: KubeClient, redactor: Redactor) -> None:
        self._kube = kube
        self._redactor = redactor
        self._tokens: dict[str, tuple[str, float]] = {}

    async def of(self, cluster: RayCluster) -> Address | None:
        """The head of a cluster; None when it has none. Raises Retry, or Terminal without a token."""
        host = cluster.status.head.pod_i_p
        if not host:
            return None
        port = cluster.status.endpoints.get("dashboard", _DASHBOARD)
        bracketed = f"[{host}]" if ":" in host else host
        return Address(url=f"http://{bracketed}:{port}", token=await self._token(cluster))

    async def _token(self, cluster: RayCluster) -> str:
        options = cluster.spec.get("authOptions") or {}
        if options.get("mode") != "token":
            return ""
        token, until = self._tokens.get(cluster.key, ("", 0.0))
        if time.monotonic() < until:
            return token
        meta = cluster.metadata
        secret = await self._kube.get(Secret, name=meta.name, namespace=meta.namespace)
        try:
            token = base64.b64decode(secret.data["auth_token"], validate=True).decode()
        except (KeyError, binascii.Error, UnicodeDecodeError) as error:
            text = f"Secret {secret.key} has no auth_token that can be read"
            raise Terminal(text, reason="RayTokenMissing") from error
        self._redactor.register(token)
        self._tokens[cluster.key] = (token, time.monotonic() + _FRESH)
        return token
