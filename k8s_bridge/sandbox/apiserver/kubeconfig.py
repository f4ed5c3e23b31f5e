"""A kubeconfig that leads clients to the embedded API server."""

from __future__ import annotations

from pathlib import Path

import yaml

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.server import ApiServer

NAME = "sandbox"


def kubeconfig(server: ApiServer, *, namespace: str = "default") -> Json:
    """The document: one cluster, one user (with a token where the server asks for one), one context."""
    cluster: Json = {"server": server.url}
    if server.tls:
        cluster["certificate-authority"] = str(server.tls.certificate)
    user: Json = {"token": min(server.tokens)} if server.tokens else {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": namespace}}],
        "current-context": NAME,
    }


def write_kubeconfig(server: ApiServer, path: Path, *, namespace: str = "default") -> None:
    """Write the document, readable by the owner only."""
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(kubeconfig(server, namespace=namespace)), encoding="utf-8")
