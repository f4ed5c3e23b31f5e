"""Made the fixtures: keeps of a recorded watch stream what the replay reads, and leaves the rest out.

Usage: slim.py FULL.jsonl > SLIM.jsonl. Kept of each object: name, uid, labels, deletion, the spec where the
replay has to apply it, and status without what no test compares (addresses, image ids, container ids).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
KINDS = ("workloads", "jobsets", "jobs", "pods", "clusterqueues", "localqueues", "nodes", "events")
_META = ("name", "namespace", "uid", "deletionTimestamp")
_POD_STATUS = ("phase", "conditions")


def slim(lines: Iterator[str]) -> Iterator[Json]:
    """The stream, slimmed; a version that differs from the one before only in what is left out is dropped."""
    before: dict[tuple[str, str], Json] = {}
    born: set[str] = set()
    for line in lines:
        entry = json.loads(line)
        if "object" not in entry:
            yield entry
            continue
        if entry["kind"] not in KINDS:
            continue
        obj = _object(entry["kind"], entry["object"], first=entry["object"]["metadata"]["uid"] not in born)
        born.add(entry["object"]["metadata"]["uid"])
        key = (entry["kind"], obj["metadata"]["uid"])
        shown = {k: v for k, v in obj.items() if k != "spec"} | {"spec": _changing(obj.get("spec") or {})}
        if before.get(key) == shown and entry["type"] == "MODIFIED":
            continue
        before[key] = shown
        yield entry | {"object": obj}


def _object(kind: str, obj: Json, *, first: bool) -> Json:
    if kind == "events":
        return {
            "metadata": {key: obj["metadata"][key] for key in ("name", "namespace", "uid")},
            "involvedObject": {key: obj["involvedObject"].get(key) for key in ("kind", "name", "uid")},
            **{key: obj[key] for key in ("reason", "message", "type")},
            "source": {
                "component": (obj.get("source") or {}).get("component") or obj.get("reportingComponent")
            },
        }
    meta = {key: value for key, value in obj["metadata"].items() if key in _META}
    if kind in ("jobsets", "jobs", "nodes") and first:
        meta |= {key: obj["metadata"][key] for key in ("labels", "annotations") if obj["metadata"].get(key)}
        meta["owned"] = bool(obj["metadata"].get("ownerReferences"))
    spec = _spec(kind, obj.get("spec") or {}, first=first)
    return {"metadata": meta, "spec": spec, "status": _status(kind, obj.get("status") or {})}


def _spec(kind: str, spec: Json, *, first: bool) -> Json:
    if kind == "pods":
        return {key: spec[key] for key in ("nodeName", "schedulingGates", "nodeSelector") if key in spec}
    if kind == "workloads":
        sets = [{k: v for k, v in p.items() if k != "template"} for p in spec["podSets"]]
        return {k: v for k, v in spec.items() if k != "podSets"} | {"podSets": sets}
    if kind in ("jobsets", "jobs") and not first:
        return {"suspend": spec.get("suspend")}
    return spec


def _changing(spec: Json) -> Json:
    return {key: value for key, value in spec.items() if key not in ("replicatedJobs", "template", "podSets")}


def _status(kind: str, status: Json) -> Json:
    if kind == "pods":
        kept = {key: status[key] for key in _POD_STATUS if key in status}
        kept["containerStatuses"] = [
            {"name": c["name"], "state": {k: _state(v) for k, v in c["state"].items()}}
            for c in status.get("containerStatuses") or ()
        ]
        return kept
    if kind == "nodes":
        return {"conditions": status.get("conditions"), "allocatable": status.get("allocatable")}
    return status


def _state(state: Json) -> Json:
    return {key: state[key] for key in ("reason", "message", "exitCode") if key in state}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as full:  # noqa: PTH123 - a path from the command line
        for item in slim(full):
            sys.stdout.write(json.dumps(item, separators=(",", ":")) + "\n")
