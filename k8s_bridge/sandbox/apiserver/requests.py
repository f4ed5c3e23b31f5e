"""A request as the API server understands it: verb, resource and options of an HTTP request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from k8s_bridge.sandbox.apiserver.errors import ApiError, bad_request
from k8s_bridge.sandbox.apiserver.kinds import BY_RESOURCE, Kind

_NAMED_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a path addresses. `name` "" is the collection; `namespace` "" all namespaces or cluster scope."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request on a resource."""

    verb: str
    target: Target
    query: Mapping[str, str]
    headers: Mapping[str, str]

    def flag(self, name: str) -> bool:
        """A query parameter as Go reads booleans."""
        return self.query.get(name, "") in ("1", "t", "T", "true", "TRUE", "True")

    def number(self, name: str) -> int | None:
        """A query parameter as a number; None if absent, 400 if it is none."""
        text = self.query.get(name, "")
        if not text:
            return None
        if not text.isdecimal():
            raise bad_request(f"Invalid value: {text!r}: {name} must be a number")
        return int(text)

    @property
    def strict(self) -> bool:
        """Whether unknown fields are refused."""
        return self.query.get("fieldValidation") == "Strict"

    @property
    def manager(self) -> str:
        """The field manager: named, or what the user agent begins with."""
        return self.query.get("fieldManager") or self.headers.get("user-agent", "").split("/")[0] or "unknown"


def query_of(raw: bytes) -> dict[str, str]:
    """The query string; of a repeated parameter the last counts."""
    return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))


def target_of(path: str) -> Target | None:
    """The resource a path addresses; None if it addresses none that is served."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"]:
        group, rest = "", parts[1:]
    elif parts[:1] == ["apis"]:
        group, rest = (parts[1] if len(parts) > 1 else ""), parts[2:]
    else:
        return None
    return _resource(group, rest) if len(rest) > 1 else None


def _resource(group: str, rest: list[str]) -> Target | None:
    version, parts = rest[0], rest[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and (group, parts[2]) != ("", "status"):  # noqa: PLR2004
        namespace, parts = parts[1], parts[2:]
    kind = BY_RESOURCE.get((group, version, parts[0]))
    name, subresource = (*parts[1:], "", "")[:2]
    if kind is None or len(parts) > 3:  # noqa: PLR2004 - plural, name, subresource
        return None
    if bool(namespace) is not kind.namespaced and (namespace or name):
        return None
    return Target(kind=kind, namespace=namespace, name=name, subresource=subresource)


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    """The verb, or 405."""
    if method == "GET" and query.get("watch") in ("1", "true", "True"):
        return "watch"
    verbs = _NAMED_VERBS if target.name else _COLLECTION_VERBS
    named_create = method == "POST" and target.name and not target.subresource
    if method not in verbs or named_create:
        text = "the server does not allow this method on the requested resource"
        raise ApiError(405, "MethodNotAllowed", text)
    return verbs[method]
