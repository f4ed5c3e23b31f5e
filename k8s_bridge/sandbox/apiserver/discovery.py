"""What the server says about itself: version, API groups, resources, a sketch of its OpenAPI. Data only."""

from __future__ import annotations

from itertools import groupby

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import ALL, PODS, Kind

VERSION: Json = {
    "major": "1",
    "minor": "35",
    "gitVersion": "v1.35.3+sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_FIELD_VALIDATION = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]


def documents() -> dict[str, Json]:
    """Every discovery document by its path."""
    by_version = {
        version: list(kinds)
        for version, kinds in groupby(sorted(ALL, key=lambda k: k.api_version), lambda k: k.api_version)
    }
    found: dict[str, Json] = {
        "/version": VERSION,
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(version) for version in by_version if "/" in version],
        },
        "/openapi/v3": {
            "paths": {
                _root(version)[1:]: {"serverRelativeURL": f"/openapi/v3{_root(version)}"}
                for version in by_version
            }
        },
    }
    for version, kinds in by_version.items():
        found[_root(version)] = _resources(version, kinds)
        found[f"/openapi/v3{_root(version)}"] = _openapi(kinds)
        if "/" in version:
            found[f"/apis/{version.split('/')[0]}"] = {
                "kind": "APIGroup",
                "apiVersion": "v1",
                **_group(version),
            }
    return found


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _group(version: str) -> Json:
    served = {"groupVersion": version, "version": version.split("/")[1]}
    return {"name": version.split("/", maxsplit=1)[0], "versions": [served], "preferredVersion": served}


def _resources(version: str, kinds: list[Kind]) -> Json:
    entries = [entry for kind in kinds for entry in _entries(kind)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": entries}


def _entries(kind: Kind) -> list[Json]:
    entry: Json = {
        "name": kind.plural,
        "singularName": kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _VERBS,
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    subresources = [_subresource(kind, "status", ["get", "patch", "update"])] if kind.has_status else []
    if kind is PODS:
        eviction = _subresource(kind, "eviction", ["create"])
        subresources.append(eviction | {"group": "policy", "version": "v1", "kind": "Eviction"})
        subresources.append(_subresource(kind, "binding", ["create"]) | {"kind": "Binding"})
    return [entry, *subresources]


def _subresource(kind: Kind, name: str, verbs: list[str]) -> Json:
    return {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs,
    }


def _openapi(kinds: list[Kind]) -> Json:
    """Enough for kubectl to know that the server validates fields itself."""
    return {
        "openapi": "3.0.0",
        "info": {"title": "sandbox", "version": VERSION["gitVersion"]},
        "paths": {_path(kind): {"patch": _operation(kind)} for kind in kinds},
        "components": {"schemas": {}},
    }


def _path(kind: Kind) -> str:
    middle = "/namespaces/{namespace}" if kind.namespaced else ""
    return f"{_root(kind.api_version)}{middle}/{kind.plural}/{{name}}"


def _operation(kind: Kind) -> Json:
    return {
        "parameters": _FIELD_VALIDATION,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
        },
    }
