"""What a policy's expressions see of a write. Pure."""

from __future__ import annotations

from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.policies.matching import Write

USER = {
    "username": "system:admin",
    "groups": ["system:masters", "system:authenticated"],
    "extra": {},
    "uid": "",
}
"""The sandbox knows no users: whoever writes is an administrator."""


def scope_of(write: Write, *, params: Json | None) -> dict[str, Any]:
    """object, oldObject, request, params and namespaceObject."""
    meta = write.new["metadata"]
    kind = {"group": write.kind.group, "version": write.kind.version, "kind": write.kind.kind}
    return {
        "object": write.new,
        "oldObject": write.old,
        "namespaceObject": write.namespace,
        "params": params,
        "request": {
            "operation": write.operation,
            "name": meta.get("name", ""),
            "namespace": meta.get("namespace", ""),
            "kind": kind,
            "resource": {
                "group": write.kind.group,
                "version": write.kind.version,
                "resource": write.kind.plural,
            },
            "subResource": "",
            "dryRun": False,
            "userInfo": USER,
        },
    }
