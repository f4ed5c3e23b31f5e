"""What a mutating webhook makes of a new object: it is read into a Go struct, and written back.

That comes before the schema is asked: a wrong type is the webhook's 400, and what is required and missing has
Go's zero value by then. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADS, Kind
from k8s_bridge.sandbox.apiserver.structure import has_type, type_name

_WEBHOOKS = {JOBSETS: "mutate-jobset-x-k8s-io-v1alpha2-jobset.x-k8s.io", WORKLOADS: "mworkload.kb.io"}
_QUANTITY = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_NOT_A_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_ZEROS: dict[str, Callable[[], Any]] = {
    "string": str, "integer": int, "number": int, "boolean": bool, "object": dict, "array": lambda: None
}  # fmt: skip


def round_tripped(kind: Kind, parts: Json, schemas: dict[str, Json]) -> Json:
    """The parts of a new object as its webhook hands them on. 400 for what it cannot read."""
    webhook = _WEBHOOKS.get(kind)
    if webhook is None:
        return parts
    return {name: _read(value, schemas[name], name, webhook) for name, value in parts.items()}


def _read(value: Any, schema: Json, path: str, webhook: str) -> Any:
    if value is None:
        return None
    _check(value, schema, path, webhook)
    if isinstance(value, list):
        items = schema.get("items", {})
        return [_zero(items) if item is None else _read(item, items, path, webhook) for item in value]
    if not isinstance(value, dict):
        return value
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
    read = {
        name: _read(item, properties.get(name, rest), f"{path}.{name}", webhook)
        for name, item in value.items()
    }
    return read | {name: _zero(properties[name]) for name in _always(schema) if read.get(name) is None}


def _always(schema: Json) -> list[str]:
    """The fields that are always written: required ones, and specs, which are no pointers in Go."""
    specs = ["spec"] if "spec" in schema.get("properties", {}) else []
    return [*schema.get("required", ()), *specs]


def _zero(schema: Json) -> Any:
    zero = _ZEROS[schema.get("type", "string")]()
    return {name: _zero(schema["properties"][name]) for name in _always(schema)} if zero == {} else zero


def _check(value: Any, schema: Json, path: str, webhook: str) -> None:
    wanted = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if "pattern" in schema and not _QUANTITY.fullmatch(str(value)):
            raise _denied(webhook, _NOT_A_QUANTITY)
    elif wanted and not has_type(value, wanted):
        text = f"json: cannot unmarshal {type_name(value)} into Go struct field {path} of type {wanted}"
        raise _denied(webhook, text)


def _denied(webhook: str, why: str) -> ApiError:
    return ApiError(400, "", f'admission webhook "{webhook}" denied the request: {why}')
