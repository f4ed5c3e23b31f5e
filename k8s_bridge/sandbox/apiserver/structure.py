"""What the API server does with a custom resource by its schema: drop unknown fields, default, validate.

The texts and reasons of refusals are those of the real server. Rules in CEL are not carried out; where the
structure is wrong the real server says that it did not try them, and so does this one.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.records import copy

KEYWORDS = frozenset(
    {
        "default", "enum", "format", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum",
        "nullable", "pattern", "required", "type", "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-preserve-unknown-fields",
    }
)  # fmt: skip
"""Of the keywords of a structural schema, those that are looked at."""

Cause = tuple[str, str, str]
"""(field, reason, message)"""

_BLOCKING = frozenset(
    {
        "FieldValueTypeInvalid", "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong",
        "FieldValueTooMany",
    }
)  # fmt: skip
_UNCHECKED: Cause = (
    "<nil>",
    "FieldValueInvalid",
    (
        "Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    ),
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@functools.cache
def structures() -> Mapping[str, Json]:
    """The schemas of Kueue's and JobSet's kinds by `plural.group`."""
    text = resources.files(__package__).joinpath("structures.json").read_text()
    loaded = json.loads(text)
    parts: dict[str, Json] = {}
    for name in loaded["parts"]:
        _unfold(name, loaded["parts"], parts)
    return {name: _whole(schema, parts) for name, schema in loaded["kinds"].items()}


def _unfold(name: str, folded: Mapping[str, Json], parts: dict[str, Json]) -> Json:
    if name not in parts:
        parts[name] = _replaced(folded[name], lambda other: _unfold(other, folded, parts))
    return parts[name]


def _whole(schema: Json, parts: Mapping[str, Json]) -> Json:
    return _replaced(schema, parts.__getitem__)


def _replaced(schema: Json, part: Callable[[str], Json]) -> Json:
    if "part" in schema:
        return part(schema["part"])
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {name: _replaced(inner, part) for name, inner in result["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in result:
            result[key] = _replaced(result[key], part)
    return result


def shaped(value: Any, schema: Json) -> Any:
    """`value` without fields that the schema does not know, and with its defaults."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, list):
        return [shaped(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(rest := schema.get("additionalProperties"), dict):
        return {name: shaped(item, rest) for name, item in value.items()}
    properties: Json = schema.get("properties", {})
    known = {name: item for name, item in value.items() if name in properties and item is not None}
    for name, part in properties.items():
        if name not in known and "default" in part:
            known[name] = copy(part["default"])
    return {name: shaped(item, properties[name]) for name, item in known.items()}


def unknown(value: Any, schema: Json, path: str) -> Iterator[str]:
    """The fields that the schema does not know."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown(item, schema.get("items", {}), f"{path}[{index}]")
    elif isinstance(value, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in value.items():
            inner = f"{path}.{name}" if path else name
            if name in properties or rest:
                yield from unknown(item, properties.get(name, rest), inner)
            else:
                yield inner


def causes(value: Any, schema: Json, path: str, *, rules: bool) -> list[Cause]:
    """Everything that is wrong with a value. `rules`: the kind has rules that would be tried next."""
    found = [found.cause(path) for found in _faults(value, schema, "")]
    if rules and any(reason in _BLOCKING for _, reason, _ in found):
        found.append(_UNCHECKED)
    return found


def has_rules(schema: Json) -> bool:
    """Whether any part of the schema has rules in CEL."""
    below = [*schema.get("properties", {}).values()]
    below += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    return bool(schema.get("rules") or schema.get("x-kubernetes-validations")) or any(map(has_rules, below))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """`text` has `{}` where the validator names the place."""

    at: str
    reason: str
    text: str

    def cause(self, path: str) -> Cause:
        # The validator is given the status apart from the rest, and so names places within it.
        inner = self.at.removeprefix(".") if path == "status" else f"{path}{self.at}"
        return f"{path}{self.at}", self.reason, self.text.replace("{}", inner)


def _faults(value: Any, schema: Json, at: str) -> Iterator[_Fault]:
    wanted = schema.get("type")
    if wanted and not has_type(value, wanted):
        given = type_name(value)
        text = f'Invalid value: "{given}": {{}} in body must be of type {wanted}: "{given}"'
        yield _Fault(at=at, reason="FieldValueTypeInvalid", text=text)
        return
    for check in (_of_enum, _of_text, _of_number):
        yield from check(value, schema, at)
    if isinstance(value, list):
        yield from _of_list(value, schema, at)
    elif isinstance(value, dict):
        yield from _of_object(value, schema, at)


def _of_object(value: Json, schema: Json, at: str) -> Iterator[_Fault]:
    for name in schema.get("required", ()):
        if name not in value:
            yield _Fault(at=f"{at}.{name}", reason="FieldValueRequired", text="Required value")
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name, item in value.items():
        part = properties.get(name, rest)
        if isinstance(part, dict):
            yield from _faults(item, part, f"{at}.{name}")


def _of_list(value: Sequence[Any], schema: Json, at: str) -> Iterator[_Fault]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least:
        text = f"Invalid value: {len(value)}: {{}} in body should have at least {least} items"
        yield _Fault(at=at, reason="FieldValueInvalid", text=text)
    if most is not None and len(value) > most:
        text = f"Too many: {len(value)}: must have at most {most} items"
        yield _Fault(at=at, reason="FieldValueTooMany", text=text)
    for index, item in enumerate(value):
        yield from _faults(item, schema.get("items", {}), f"{at}[{index}]")
    yield from _repeated(value, schema, at)


def _repeated(value: Sequence[Any], schema: Json, at: str) -> Iterator[_Fault]:
    keys, items = schema.get("x-kubernetes-list-map-keys"), schema.get("items", {}).get("properties", {})
    seen: set[str] = set()
    for index, item in enumerate(value):
        if not keys or not isinstance(item, dict):
            return
        key = {name: item.get(name, items.get(name, {}).get("default")) for name in keys}
        text = json.dumps(
            {name: part for name, part in key.items() if part is not None}, separators=(",", ":")
        )
        if text in seen:
            yield _Fault(at=f"{at}[{index}]", reason="FieldValueDuplicate", text=f"Duplicate value: {text}")
        seen.add(text)


def _of_enum(value: Any, schema: Json, at: str) -> Iterator[_Fault]:
    allowed = schema.get("enum")
    if allowed and value not in allowed:
        listed = ", ".join(map(json.dumps, allowed))
        text = f"Unsupported value: {json.dumps(value)}: supported values: {listed}"
        yield _Fault(at=at, reason="FieldValueNotSupported", text=text)


def _of_text(value: Any, schema: Json, at: str) -> Iterator[_Fault]:
    if not isinstance(value, str):
        return
    quoted = json.dumps(value)
    if schema.get("format") == "date-time" and not _TIME.fullmatch(value):
        text = f"Invalid value: {quoted}: {{}} in body must be of type datetime: {quoted}"
        yield _Fault(at=at, reason="FieldValueTypeInvalid", text=text)
    if len(value) < schema.get("minLength", 0):
        text = f"Invalid value: {quoted}: {{}} in body should be at least {schema['minLength']} chars long"
        yield _Fault(at=at, reason="FieldValueInvalid", text=text)
    if len(value) > schema.get("maxLength", len(value)):
        text = f"Too long: may not be more than {schema['maxLength']} bytes"
        yield _Fault(at=at, reason="FieldValueTooLong", text=text)
    if (pattern := schema.get("pattern")) and not re.search(_python(pattern), value):
        text = f"Invalid value: {quoted}: {{}} in body should match '{pattern}'"
        yield _Fault(at=at, reason="FieldValueInvalid", text=text)


def _of_number(value: Any, schema: Json, at: str) -> Iterator[_Fault]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        text = f"Invalid value: {value}: {{}} in body should be greater than or equal to {least:g}"
        yield _Fault(at=at, reason="FieldValueInvalid", text=text)
    if most is not None and value > most:
        text = f"Invalid value: {value}: {{}} in body should be less than or equal to {most:g}"
        yield _Fault(at=at, reason="FieldValueInvalid", text=text)


@functools.cache
def _python(pattern: str) -> str:
    # In Go $ is the very end; in Python a line end may follow it.
    return re.sub(r"(?<!\\)\$", r"\\Z", pattern)


def has_type(value: Any, wanted: str) -> bool:
    """Whether a JSON value is of a schema's type."""
    given = type_name(value)
    return given == wanted or (wanted == "number" and given == "integer")


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object", float: "number"}
    return names.get(type(value), "null")
