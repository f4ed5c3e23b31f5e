"""The structure of the custom resources of Kueue and JobSet, as the testbed's API server has it, made small.

Run in the testbed, it writes what the sandbox checks with:
    PYTHONPATH=tests python -m testbed run python -m conformance.apiserver.schemas
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
from testbed.mirror import how_to_reach

import k8s_bridge.sandbox.apiserver.structure as sandbox
from k8s_bridge.sandbox.apiserver.kinds import ALL, WORKLOADMIXINGS, Kind

Json = dict[str, Any]
FILE = Path(sandbox.__file__).with_name("structures.json")
_KINDS = {kind.resource: kind for kind in ALL if kind.custom and kind is not WORKLOADMIXINGS}
_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SHARED_FROM = 400
"""Characters from which a part that stands in several places is written once."""


def small(schema: Json) -> Json:
    """The schema with what decides whether a document is taken, and no more."""
    kept = {key: schema[key] for key in sandbox.KEYWORDS & schema.keys()}
    if schema.get("x-kubernetes-validations"):
        kept["rules"] = True
    if "properties" in schema:
        kept["properties"] = {name: small(part) for name, part in sorted(schema["properties"].items())}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = small(schema[key])
    return dict(sorted(kept.items()))


def shared(schemas: dict[str, Json]) -> Json:
    """All schemas, and apart from them the parts that stand in them more than once."""
    seen: dict[str, int] = {}
    for schema in schemas.values():
        _count(schema, seen)
    texts = [text for text, times in seen.items() if times > 1 and len(text) >= _SHARED_FROM]
    names = {text: f"part{number}" for number, text in enumerate(sorted(texts))}
    parts = {name: _folded(json.loads(text), names, whole=text) for text, name in names.items()}
    return {"kinds": {name: _folded(schema, names) for name, schema in schemas.items()}, "parts": parts}


def _count(schema: Json, seen: dict[str, int]) -> None:
    for part in _below(schema):
        text = _text(part)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 1:
            _count(part, seen)


def _below(schema: Json) -> Iterable[Json]:
    yield from schema.get("properties", {}).values()
    yield from (schema[key] for key in ("items", "additionalProperties") if key in schema)


def _folded(schema: Json, names: dict[str, str], *, whole: str = "") -> Json:
    text = _text(schema)
    if text != whole and text in names:
        return {"part": names[text]}
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {key: _folded(part, names) for key, part in result["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in result:
            result[key] = _folded(result[key], names)
    return result


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _of(definition: Json, kind: Kind) -> Json:
    versions = definition["spec"]["versions"]
    return next(v["schema"]["openAPIV3Schema"] for v in versions if v["name"] == kind.version)


def fetched() -> Json:
    """What the running testbed says."""
    with httpx.Client(**how_to_reach(), timeout=60) as client:
        found = {crd["metadata"]["name"]: crd for crd in client.get(_PATH).json()["items"]}
    return shared({name: small(_of(found[name], kind)) for name, kind in sorted(_KINDS.items())})


if __name__ == "__main__":
    FILE.write_text(json.dumps(fetched(), indent=1) + "\n")
