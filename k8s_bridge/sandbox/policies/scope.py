"""The variables that a policy's expressions see. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.cel import evaluate, parse
from k8s_bridge.sandbox.policies.matching import Write

USER = {
    "username": "system:admin",
    "groups": ["system:masters", "system:authenticated"],
    "extra": {},
    "uid": "",
}
"""The sandbox knows no users: whoever writes is an administrator."""


class Variables(Mapping[str, Any]):
    """A policy's own variables, each evaluated when it is first asked for."""

    def __init__(self, entries: Sequence[Mapping[str, str]], scope: dict[str, Any]) -> None:
        self._expressions = {entry["name"]: entry["expression"] for entry in entries}
        self._scope = scope
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = evaluate(parse(self._expressions[name]), self._scope)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._expressions

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


def scope_of(write: Write, *, variables: Sequence[Mapping[str, str]], params: Json | None) -> dict[str, Any]:
    """object, oldObject, request, params, namespaceObject and variables."""
    meta = write.new["metadata"]
    kind = {"group": write.kind.group, "version": write.kind.version, "kind": write.kind.kind}
    scope: dict[str, Any] = {
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
    scope["variables"] = Variables(variables, scope)
    return scope
