"""The CustomResourceDefinition, and the JSON schema of the file form, made from the models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from api.schema import Schema, json_form, structural, without_defaults
from api.v1alpha1.status import WorkloadMixingStatus
from api.v1alpha1.workloadmixing import GROUP, KIND, PLURAL, VERSION, WorkloadMixing, WorkloadMixingSpec

SHORT_NAME = "wm"
_NOTICE = "# Made from the models in api/v1alpha1 by `python -m api.generate`; edit those.\n"
_COLUMNS = (
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether the bridge does its work"),
    (
        "Ray",
        "string",
        '.status.conditions[?(@.type=="RayReady")].status',
        "Whether the Ray bridge does its work",
    ),
    ("Queue", "string", ".spec.localQueue", "LocalQueue of its JobSets"),
    ("Pending", "integer", ".status.counts.pending", "Jobs that wait for quota"),
    ("Running", "integer", ".status.counts.running", "Jobs that run"),
    ("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
)


def crd() -> dict[str, Any]:
    """The CustomResourceDefinition (apiextensions.k8s.io/v1) as data."""
    names = {
        "kind": KIND,
        "listKind": f"{KIND}List",
        "plural": PLURAL,
        "singular": KIND.lower(),
        "shortNames": [SHORT_NAME],
        "categories": ["k8s-bridge"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [_version()]},
    }


def _version() -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path, "description": text}
            for name, kind, path, text in _COLUMNS
        ],
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _root()},
    }


def _root() -> Schema:
    """The whole object; the API server itself knows what belongs into metadata."""
    return {
        "type": "object",
        "description": WorkloadMixing.__doc__,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(WorkloadMixingSpec),
            "status": without_defaults(structural(WorkloadMixingStatus)),
        },
    }


def crd_yaml() -> str:
    """The CustomResourceDefinition as the file that is applied."""
    return _NOTICE + yaml.safe_dump(crd(), sort_keys=False, width=110, allow_unicode=True)


def json_schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the file form: the whole resource or a bare spec. For editors and charts."""
    schema = _plain(json_form(WorkloadMixing))
    definitions = schema.pop("$defs")
    spec = definitions["WorkloadMixingSpec"]
    namespace = {"type": "string", "description": "Namespace of the JobSets."}
    definitions["WorkloadMixing"] = schema
    definitions["BareSpec"] = spec | {"properties": {"namespace": namespace} | spec["properties"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{KIND} {VERSION}",
        "if": {"anyOf": [{"required": [key]} for key in ("apiVersion", "kind", "metadata", "spec")]},
        "then": {"$ref": "#/$defs/WorkloadMixing"},
        "else": {"$ref": "#/$defs/BareSpec"},
        "$defs": definitions,
    }


def json_schema_text() -> str:
    """The JSON schema as the file that is committed."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _plain(node: Any) -> Any:
    """`node` without Kubernetes extensions and made-up titles."""
    match node:
        case Mapping():
            return {
                key: _plain(value)
                for key, value in node.items()
                if not key.startswith("x-kubernetes-") and not (key == "title" and isinstance(value, str))
            }
        case list():
            return [_plain(entry) for entry in node]
        case _:
            return node
