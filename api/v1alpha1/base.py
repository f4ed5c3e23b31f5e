"""What all models of the contract share: immutability, spelling, cross-field rules, list keys.

A rule exists once and is used twice: as CEL in the CRD and as a function on the raw mapping when a
document is read. Rules see raw data so that they are reported together with errors of single fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

_CAPITALS = {"url": "URL", "http": "HTTP", "ca": "CA", "tls": "TLS", "mb": "MB"}

Raw = Mapping[str, Any]


def camel(name: str) -> str:
    """The spelling in documents: `slurm_rest_url` is `slurmRestURL`, `node_shape` is `nodeShape`."""
    first, *rest = name.split("_")
    return first + "".join(_CAPITALS.get(word, word.capitalize()) for word in rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule over several fields of one object.

    `cel` is its text for the API server, `holds` the same on the raw mapping (wrongly typed fields count as
    absent; they are reported by themselves). `field` is where the error is shown ("" = the object itself).
    `reason` is what the API server calls the error.
    """

    cel: str
    holds: Callable[[Raw], bool]
    field: str
    why: str
    fix: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ListMap:
    """Marks a list whose entries are told apart by one field (x-kubernetes-list-type: map)."""

    key: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """The list's schema with the Kubernetes list type added."""
        schema = handler(core)
        return schema | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}


class Model(BaseModel):
    """Base of all models: frozen, closed, strictly typed; camelCase in documents, snake_case in Python."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=camel,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )
    RULES: ClassVar[tuple[Rule, ...]] = ()

    def document(self) -> dict[str, Any]:
        """The same as JSON data, spelled as in documents; what is None is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """The model's schema with its rules as CEL."""
        schema = handler.resolve_ref_schema(handler(core))
        if cls.RULES:
            schema["x-kubernetes-validations"] = [
                {"rule": rule.cel, "message": f"{rule.field or 'this'} {rule.why}: {rule.fix}"}
                | ({"fieldPath": f".{rule.field}"} if rule.field else {})
                | ({"reason": rule.reason} if rule.reason else {})
                for rule in cls.RULES
            ]
        return schema


def text(raw: Raw, field: str) -> str:
    """The string in `field`, "" when it is absent or not a string."""
    value = raw.get(field)
    return value if isinstance(value, str) else ""


def given(raw: Raw, *fields: str) -> int:
    """How many of `fields` carry something: empty strings, lists and objects count as absent."""
    return sum(raw.get(field) not in (None, "", [], {}) for field in fields)


NVIDIA_GPU = "nvidia.com/gpu"


def gpu_resource_or_default(value: str) -> str:
    """The resource, or the default for an empty text, as in the prototype."""
    return value or NVIDIA_GPU


NAME_MAX = 253
LABEL_KEY_MAX = 316  # 253 prefix + "/" + 63, less one: the bound that existing resources were checked with

Name = Annotated[str, Field(min_length=1, max_length=NAME_MAX)]
"""The name of an object or partition; must be there."""
OptionalName = Annotated[str, Field(max_length=NAME_MAX)]
"""The same, where "" means "not given"."""
LabelKey = Annotated[str, Field(max_length=LABEL_KEY_MAX)]
"""A node label key, or ""."""
FilePath = Annotated[str, Field(max_length=1024)]
"""A path on the controller's file system, or ""."""
ResourceName = Annotated[str, Field(max_length=NAME_MAX)]
"""An extended resource such as nvidia.com/gpu."""
Labels = Annotated[
    dict[Annotated[str, Field(max_length=LABEL_KEY_MAX)], Annotated[str, Field(max_length=63)]],
    Field(max_length=64),
]
"""A label selector by equality."""
PodTemplate = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}),
]
"""Any fields of a PodTemplateSpec. Leaf strings are Jinja2 templates."""
