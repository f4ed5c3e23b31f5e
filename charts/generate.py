"""Writes what the chart takes from code: its CRD, the schema of its values, alerts and dashboards."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from api.crd import crd_yaml
from api.schema import json_form
from api.v1alpha1 import WorkloadMixingSpec
from k8s_bridge.ray.admission.configurations import Where, configurations
from k8s_bridge.ray.policies import policies
from monitoring import alerts
from monitoring.dashboards import DASHBOARDS, document

_HERE = Path(__file__).parent
CHART = _HERE / "k8s-bridge"
_WHERE = Where(
    service="ray-bridge-service", namespace="ray-bridge-namespace", namespaces="ray-bridge-namespaces"
)
"""What the template puts in."""


def outputs() -> dict[Path, str]:
    """Path and right content of each generated file."""
    return {
        CHART / "crds/workloadmixings.yaml": crd_yaml(),
        CHART / "values.schema.json": _json(_schema()),
        CHART / "files/alerts.yaml": yaml.safe_dump(alerts.rules(), sort_keys=False, width=110),
        CHART / "files/ray-policies.yaml": yaml.safe_dump_all(
            policies(prefix="ray-bridge-policy", mutating="mutating"), sort_keys=False, width=110
        ),
        CHART / "files/ray-webhooks.yaml": yaml.safe_dump_all(
            configurations("ray-bridge-configuration", _WHERE), sort_keys=False, width=110
        ),
        **{CHART / f"files/dashboards/{found.name}.json": _json(document(found)) for found in DASHBOARDS},
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def _schema() -> dict[str, Any]:
    base: dict[str, Any] = _closed(yaml.safe_load((_HERE / "values.schema.yaml").read_text(encoding="utf-8")))
    spec = json_form(WorkloadMixingSpec)
    models = spec.pop("$defs")
    definitions = base["$defs"] | models | {"WorkloadMixingSpec": spec}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | base | {"$defs": definitions}


def _closed(schema: Any) -> Any:
    """`schema` with every object that lists its properties allowing no others."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed.setdefault("additionalProperties", False)
    return closed


def main() -> None:
    """Write what differs and name it on standard output."""
    for path, text in outputs().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path.name}\n")


if __name__ == "__main__":
    main()
