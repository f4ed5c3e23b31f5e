"""From a model's JSON schema to what Kubernetes calls structural: no references, one type in every node.

Empty defaults ("", [], {}) are left out: absence means the same and stored objects stay small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

Schema = dict[str, Any]

_KEPT = (
    "type",
    "description",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
)


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of `model`; descriptions come from docstrings."""
    schema = json_form(model)
    return _node(schema, schema.get("$defs", {}))


class _Texts(GenerateJsonSchema):
    """Writes defaults as documents write them: durations and sizes as text."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        """The inner schema with its default."""
        result = super().default_schema(schema)
        serialization: Mapping[str, Any] = schema["schema"].get("serialization", {})
        if "default" in result and "function" in serialization:
            result["default"] = serialization["function"](schema["default"])
        return result


def json_form(model: type[BaseModel]) -> Schema:
    """Pydantic's JSON schema of `model`, with defaults as in documents."""
    return model.model_json_schema(schema_generator=_Texts)


def _node(raw: Mapping[str, Any], definitions: Mapping[str, Schema]) -> Schema:
    source = _resolved(raw, definitions)
    node = {key: source[key] for key in _KEPT if key in source}
    if "properties" in source:
        node["properties"] = {name: _node(inner, definitions) for name, inner in source["properties"].items()}
    if "items" in source:
        node["items"] = _node(source["items"], definitions)
    if isinstance(source.get("additionalProperties"), Mapping):
        node["additionalProperties"] = _node(source["additionalProperties"], definitions)
    default = _default(source.get("default"), node)
    return node if default is None else {"type": node["type"], "default": default} | node


def _resolved(raw: Mapping[str, Any], definitions: Mapping[str, Schema]) -> Schema:
    """`raw` without reference and without "or null": in Kubernetes an optional field is left out instead."""
    flat = {key: value for key, value in raw.items() if key not in ("$ref", "anyOf")}
    if "$ref" in raw:
        target = definitions[raw["$ref"].removeprefix("#/$defs/")]
        return _resolved(target, definitions) | flat
    if "anyOf" in raw:
        (choice,) = (option for option in raw["anyOf"] if option.get("type") != "null")
        return _resolved(choice, definitions) | flat
    return flat


def _default(value: object, node: Schema) -> object:
    """What the API server fills in: nothing for nothing, {} where the fields below have defaults."""
    if node["type"] == "object":
        inner = node.get("properties", {}).values()
        return {} if isinstance(value, Mapping) and any("default" in field for field in inner) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if value in ("", []) else value


def without_defaults(node: Schema) -> Schema:
    """The same without defaults anywhere: for status, which nobody writes but the controller."""
    bare = {key: value for key, value in node.items() if key != "default"}
    for key in ("items", "additionalProperties"):
        if key in bare:
            bare[key] = without_defaults(bare[key])
    if "properties" in bare:
        bare["properties"] = {name: without_defaults(inner) for name, inner in bare["properties"].items()}
    return bare
