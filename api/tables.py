"""The reference tables of docs/custom-resource.md, made from the same schema as the CRD."""

from __future__ import annotations

from collections.abc import Iterator

from api.schema import Schema, structural, without_defaults
from api.v1alpha1 import duration, quantity
from api.v1alpha1.status import WorkloadMixingStatus
from api.v1alpha1.workloadmixing import WorkloadMixingSpec

_RANGES = (
    ("{}", "minimum", "maximum"),
    ("{} characters", "minLength", "maxLength"),
    ("{} entries", "minItems", "maxItems"),
    ("{} entries", "minProperties", "maxProperties"),
)
_HEAD = "| Field | Type | Default | Bounds | Meaning |\n| --- | --- | --- | --- | --- |"


def docs_tables() -> str:
    """Markdown: one table for each object of spec and status."""
    parts = [
        *_tables(structural(WorkloadMixingSpec), "spec"),
        *_tables(without_defaults(structural(WorkloadMixingStatus)), "status"),
    ]
    return "\n\n".join(parts) + "\n"


def _tables(node: Schema, path: str) -> Iterator[str]:
    fields = node["properties"]
    required = node.get("required", ())
    rows = [_row(name, field, required=name in required) for name, field in fields.items()]
    rules = [f"Rule: {rule['message']}." for rule in node.get("x-kubernetes-validations", ())]
    yield "\n\n".join([f"### `{path}`", node["description"], "\n".join([_HEAD, *rows]), *rules])
    for name, field in fields.items():
        entry = field.get("items", field)
        if "properties" in entry:
            suffix = "[]" if "items" in field else ""
            yield from _tables(entry, f"{path}.{name}{suffix}")


def _row(name: str, field: Schema, *, required: bool) -> str:
    default = "*required*" if required else _default(field)
    cells = (f"`{name}`", _type(field), default, ", ".join(_bounds(field)), field.get("description", ""))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None or field["type"] == "object":
        return ""
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


def _type(field: Schema) -> str:
    pattern = field.get("pattern", "")
    if pattern.endswith(duration.PATTERN[2:]):
        return "duration"
    if pattern == quantity.PATTERN:
        return "memory size"
    if field["type"] == "array":
        return f"list of {_type(field['items'])}s"
    if "additionalProperties" in field:
        return f"map of {_type(field['additionalProperties'])}s"
    return "pod template" if "x-kubernetes-preserve-unknown-fields" in field else str(field["type"])


def _bounds(field: Schema) -> Iterator[str]:
    if "enum" in field:
        yield " ".join(f"`{choice}`" for choice in field["enum"])
    if _type(field) in ("duration", "memory size"):
        yield from (rule["message"] for rule in field.get("x-kubernetes-validations", ()))
        return
    for words, low, high in _RANGES:
        bounds = _range(field.get(low), field.get(high))
        if bounds:
            yield words.format(bounds)
    if "pattern" in field:
        yield f"`{field['pattern']}`"


def _range(low: object, high: object) -> str:
    if high is None:
        return "" if low is None else f"≥ {low}"
    return f"≤ {high}" if low is None else f"{low}-{high}"
