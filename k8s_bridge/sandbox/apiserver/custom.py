"""What the API server does with WorkloadMixings by their CRD: prune, default, validate.

Structure and defaults come from the generated CRD; whether the values hold is asked of the same models that
the CRD is generated from, so that all errors are listed at once.
"""

from __future__ import annotations

from typing import Any

from api.crd import crd
from api.load import parse_workloadmixing
from api.problems import InvalidWorkloadMixing
from k8s_bridge.sandbox.apiserver.errors import Json, invalid
from k8s_bridge.sandbox.apiserver.kinds import WORKLOADMIXINGS
from k8s_bridge.sandbox.apiserver.records import copy
from k8s_bridge.sandbox.apiserver.storage import Storage


def serve_workloadmixings(storage: Storage) -> None:
    """Have every WorkloadMixing pruned, defaulted and validated before it is stored."""
    schema = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties = {name: part for name, part in schema["properties"].items() if name in ("spec", "status")}

    def admission(new: Json, old: Json | None) -> Json:
        del old
        parts = {name: shaped(new[name], part) for name, part in properties.items() if name in new}
        admitted = new | parts
        _validate(admitted)
        return admitted

    storage.admit(WORKLOADMIXINGS, admission)


def shaped(value: Any, schema: Json) -> Any:
    """`value` without fields that the structural schema does not know, and with its defaults."""
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


def _validate(obj: Json) -> None:
    meta = obj["metadata"]
    lean = {"metadata": {"name": meta["name"], "namespace": meta["namespace"]}}
    try:
        parse_workloadmixing({name: part for name, part in obj.items() if name != "status"} | lean)
    except InvalidWorkloadMixing as error:
        causes = [
            (problem.path, "FieldValueInvalid", f"{problem.why}; {problem.fix}") for problem in error.problems
        ]
        raise invalid(WORKLOADMIXINGS, meta["name"], causes) from None
