"""What the API server does with custom resources by their CRDs: prune, default, validate.

The structure of Kueue's and JobSet's kinds is that of the real CRDs; the one of WorkloadMixing is our own
generated CRD, whose rules are asked of the models that it is generated from.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from api.crd import crd
from api.load import parse_workloadmixing
from api.problems import InvalidWorkloadMixing
from api.v1alpha1.workloadmixing import STAYS
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request, invalid
from k8s_bridge.sandbox.apiserver.kinds import ALL, WORKLOADMIXINGS, Kind
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.apiserver.structure import causes, has_rules, shaped, structures, unknown
from k8s_bridge.sandbox.apiserver.typed import round_tripped

_NOT_STRUCTURED = frozenset({"apiVersion", "kind", "metadata"})
_REASONS = {"is required": "FieldValueRequired"}
"""What the API server calls an error of the models, where that is not FieldValueInvalid."""


def serve_custom_resources(storage: Storage) -> None:
    """Have every custom resource pruned, defaulted and validated before it is stored."""
    for kind in ALL:
        if kind.custom:
            storage.admit(kind, functools.partial(_admitted, kind))
    storage.admit(WORKLOADMIXINGS, _checked_by_models)


def check_fields(kind: Kind, document: Json) -> str:
    """What `fieldValidation=Strict` says of a document's unknown fields; "" when it has none."""
    if not kind.custom:
        return ""
    found = [path for name, part in _parts(kind, document) for path in unknown(document[name], part, name)]
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in found) if found else ""


def check_applied(kind: Kind, name: str, document: Json) -> None:
    """500 for a field or a type that the schema does not have: such a document cannot be merged."""
    if not kind.custom:
        return
    for top, part in _parts(kind, document):
        place = f"/{name}; {kind.api_version}, Kind={kind.kind}"
        for path in unknown(document[top], part, f".{top}"):
            text = f"failed to create typed patch object ({place}): {path}: field not declared in schema"
            raise ApiError(500, "", text)


def strictly_created(kind: Kind, document: Json) -> None:
    """400 for a new object with unknown fields."""
    if why := check_fields(kind, document):
        head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise bad_request(f"{head}: {why}")


def strictly_patched(kind: Kind, document: Any) -> None:
    """422 for a merge patch with unknown fields."""
    if isinstance(document, dict) and (why := check_fields(kind, document)):
        raise ApiError(
            422,
            "Invalid",
            f' "" is invalid: patch: Invalid value: {why}',
            details={"causes": [{"reason": "FieldValueInvalid", "message": why, "field": "patch"}]},
        )


@functools.cache
def _schema(kind: Kind) -> Mapping[str, Json]:
    """The schema of each part of an object but its metadata."""
    if kind is WORKLOADMIXINGS:
        whole = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    else:
        whole = structures()[kind.resource]
    return {name: part for name, part in whole["properties"].items() if name not in _NOT_STRUCTURED}


@functools.cache
def _required(kind: Kind) -> tuple[str, ...]:
    whole = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"] if kind is WORKLOADMIXINGS else {}
    return tuple((whole or structures()[kind.resource]).get("required", ()))


@functools.cache
def _has_rules(kind: Kind) -> bool:
    return any(map(has_rules, _schema(kind).values()))


def _parts(kind: Kind, document: Json) -> list[tuple[str, Json]]:
    return [(name, part) for name, part in _schema(kind).items() if document.get(name) is not None]


def _admitted(kind: Kind, new: Json, old: Json | None) -> Json:
    changed = [(name, part) for name, part in _parts(kind, new) if old is None or new[name] != old.get(name)]
    parts = {name: shaped(new[name], part) for name, part in changed}
    admitted = new | (parts if old else round_tripped(kind, parts, dict(changed)))
    known = (*_schema(kind), *_NOT_STRUCTURED)
    admitted = {name: part for name, part in admitted.items() if name in known and part is not None}
    found = [
        (name, "FieldValueRequired", "Required value") for name in _required(kind) if name not in admitted
    ]
    rules = _has_rules(kind)
    for name, part in changed:
        found += causes(admitted[name], part, name, rules=rules)
    if found:
        raise invalid(kind, new["metadata"]["name"], found)
    return admitted


def _checked_by_models(new: Json, old: Json | None) -> Json:
    meta = new["metadata"]
    if old and "slurmRestURL" in old["spec"] and "slurmRestURL" not in new["spec"]:
        text = f"{STAYS.why}; {STAYS.fix}"
        raise invalid(WORKLOADMIXINGS, meta["name"], [(f"spec.{STAYS.field}", "FieldValueInvalid", text)])
    lean = {"metadata": {"name": meta["name"], "namespace": meta["namespace"]}}
    try:
        parse_workloadmixing({name: part for name, part in new.items() if name != "status"} | lean)
    except InvalidWorkloadMixing as error:
        found = [
            (problem.path, _REASONS.get(problem.why, "FieldValueInvalid"), f"{problem.why}; {problem.fix}")
            for problem in error.problems
        ]
        raise invalid(WORKLOADMIXINGS, meta["name"], found) from None
    return new
