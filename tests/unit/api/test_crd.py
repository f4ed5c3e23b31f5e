"""The CRD is structural, complete, equal to the models in its defaults, and bounded where CEL looks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from api.crd import crd, json_schema
from api.problems import inner_model
from api.schema import structural
from api.v1alpha1 import WorkloadMixingSpec, WorkloadMixingStatus
from api.v1alpha1.base import Model
from api.v1alpha1.duration import PATTERN

ALLOWED = {
    "type",
    "description",
    "default",
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
    "properties",
    "items",
    "additionalProperties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def root() -> dict[str, Any]:
    return crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from nodes(node[key], f"{path}[]")


def spec_nodes() -> list[tuple[str, dict[str, Any]]]:
    return list(nodes(root()["properties"]["spec"], "spec"))


def faults(node: dict[str, Any]) -> Iterator[str]:
    """What makes a node not structural."""
    if unknown := node.keys() - ALLOWED:
        yield f"forbidden keywords {unknown}"
    if node.get("type") not in TYPES:
        yield "no type"
        return
    if {"properties", "additionalProperties"} <= node.keys():
        yield "properties and additionalProperties exclude each other"
    if node["type"] == "array" and "items" not in node:
        yield "array without items"
    if missing := set(node.get("required", ())) - node.get("properties", {}).keys():
        yield f"requires {missing} that it does not have"
    if "default" in node and not isinstance(node["default"], TYPES[node["type"]]):
        yield "default of another type"
    for key in node.get("x-kubernetes-list-map-keys", ()):
        if key not in node["items"].get("required", ()):
            yield f"list key {key} is not required"


def test_every_node_is_structural():
    found = {path: problems for path, node in nodes(root()) if (problems := list(faults(node)))}
    assert found == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"$ref": "#/x", "type": "string"},
        {"anyOf": [{"type": "string"}]},
        {"type": "array"},
        {"type": "string", "default": 5},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "object", "required": ["a"], "properties": {}},
    ],
)
def test_the_checker_sees_what_is_not_structural(broken):
    assert list(faults(broken))


def test_what_cel_could_look_at_is_bounded_so_that_its_cost_is():
    unbounded = []
    for path, node in spec_nodes():
        closed = node["type"] != "string" or {"maxLength", "enum"} & node.keys()
        short = node["type"] != "array" or "maxItems" in node
        few = "additionalProperties" not in node or "maxProperties" in node
        if not (closed and short and few):
            unbounded.append(path)
    assert unbounded == []


def models(model: type[BaseModel], node: dict[str, Any]) -> Iterator[tuple[type[BaseModel], dict[str, Any]]]:
    """Each model with the schema node that it became."""
    yield model, node
    for field in model.model_fields.values():
        if inner := inner_model(field.annotation):
            child = node["properties"][field.alias]
            yield from models(inner, child.get("items", child))


@pytest.mark.parametrize(
    ("section", "model"), [("spec", WorkloadMixingSpec), ("status", WorkloadMixingStatus)]
)
def test_every_field_is_there_under_its_name_and_no_other(section, model):
    for inner, node in models(model, root()["properties"][section]):
        assert {field.alias for field in inner.model_fields.values()} == node["properties"].keys(), inner
        required = {field.alias for field in inner.model_fields.values() if field.is_required()}
        assert required == set(node.get("required", ())), inner


def written(model: type[BaseModel], name: str) -> Any:
    """The default of a field as a document would write it; absence and emptiness are one."""
    default = model.model_fields[name].get_default(call_default_factory=True)
    one = model.model_construct(**{name: default}).model_dump(mode="json", include={name}, warnings=False)
    return None if one[name] in ("", [], {}) else one[name]


def test_defaults_are_those_of_the_models():
    for model, node in models(WorkloadMixingSpec, root()["properties"]["spec"]):
        for name, field in model.model_fields.items():
            child = node["properties"][field.alias]
            if field.is_required():
                assert "default" not in child, field.alias
            elif child["type"] == "object":
                assert child.get("default", {}) == {}, field.alias
            else:
                assert child.get("default") == written(model, name), field.alias


def test_status_has_no_defaults_so_that_nothing_is_claimed_before_it_is_known():
    assert [path for path, node in nodes(root()["properties"]["status"]) if "default" in node] == []


def test_every_rule_of_the_models_is_a_cel_rule():
    for model, node in models(WorkloadMixingSpec, root()["properties"]["spec"]):
        assert issubclass(model, Model)
        rules = [rule["rule"] for rule in node.get("x-kubernetes-validations", ())]
        assert rules == [rule.cel for rule in model.RULES]


def test_cel_names_only_fields_that_exist():
    for path, node in spec_nodes():
        for rule in node.get("x-kubernetes-validations", ()):
            for field in re.findall(r"self\.([A-Za-z]+)(?!\w*\()", rule["rule"]):
                assert field in node["properties"], (path, rule)


def test_durations_carry_pattern_and_bounds():
    interval = root()["properties"]["spec"]["properties"]["pollInterval"]
    assert (interval["type"], interval["pattern"], interval["default"]) == ("string", PATTERN, "10s")
    (rule,) = interval["x-kubernetes-validations"]
    assert rule["rule"].endswith(">= 1000")
    assert rule["message"] == "must be at least 1s (0 means 10s)"


def test_lists_of_named_things_are_maps_by_their_name():
    keys = {
        path.removeprefix("spec."): node["x-kubernetes-list-map-keys"]
        for path, node in spec_nodes()
        if "x-kubernetes-list-map-keys" in node
    }
    assert keys == {
        "partitionMappings": ["partitionName"],
        "partitionMappings[].features": ["name"],
        "slurmd.gresResources": ["gres"],
        "slurmd.resourceClaims": ["name"],
        "ray.managedClusters": ["name"],
        "ray.poolMappings": ["pool"],
    }


def test_pod_templates_are_free():
    template = root()["properties"]["spec"]["properties"]["partitionMappings"]["items"]["properties"][
        "podTemplate"
    ]
    assert template["type"] == "object"
    assert template["x-kubernetes-preserve-unknown-fields"] is True


def test_kubectl_shows_what_people_ask_first():
    version = crd()["spec"]["versions"][0]
    columns = {column["name"]: column["jsonPath"] for column in version["additionalPrinterColumns"]}
    assert list(columns) == ["Ready", "Ray", "Queue", "Pending", "Running", "Age"]
    status = root()["properties"]["status"]["properties"]
    assert {"pending", "running"} <= status["counts"]["properties"].keys()
    assert version["subresources"] == {"status": {}}
    assert crd()["spec"]["names"]["shortNames"] == ["wm"]
    assert crd()["spec"]["scope"] == "Namespaced"


def test_every_field_is_explained():
    assert [
        path
        for path, node in spec_nodes()
        if "." in path and not path.endswith("[]") and "description" not in node
    ] == []


def test_an_unknown_construct_in_a_model_is_not_silently_lost():
    class Odd(BaseModel):
        either: int | str

    with pytest.raises(ValueError, match="too many values"):
        structural(Odd)


def test_the_file_schema_is_closed_and_knows_both_forms():
    definitions = json_schema()["$defs"]
    open_ones = {
        name
        for name, node in definitions.items()
        if node["type"] == "object" and node.get("additionalProperties") is not False
    }
    reported = {"Metadata", "WorkloadMixingStatus", "Condition", "Counts", "PartitionStatus"}
    assert open_ones == reported
    bare, spec = definitions["BareSpec"]["properties"], definitions["WorkloadMixingSpec"]["properties"]
    assert bare.keys() - spec.keys() == {"namespace"}
    assert "x-kubernetes" not in str(definitions)
