"""Lists as tables, the way `kubectl get` asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import (
    CLUSTERQUEUES,
    JOBSETS,
    LOCALQUEUES,
    NODES,
    PODS,
    WORKLOADMIXINGS,
    WORKLOADS,
    Kind,
)
from k8s_bridge.sandbox.apiserver.records import Stored
from k8s_bridge.sandbox.clock import parse_stamp

Cell = Callable[[Json], str]


def wanted(headers: Mapping[str, str]) -> bool:
    """Whether the client prefers a meta.k8s.io/v1 Table."""
    first = headers.get("accept", "").split(",")[0]
    return "as=Table" in first and "v=v1;" in f"{first};"


def table(kind: Kind, rows: Sequence[Stored], *, now: datetime, meta: Json) -> bytes:
    """The Table: NAME, the kind's own columns, AGE; each row carries the object's metadata."""
    columns = _COLUMNS.get(kind, {})
    names = ["Name", *columns, "Age"]
    return msgspec.json.encode(
        {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": [_definition(name) for name in names],
            "rows": [_row(row.obj, columns, now) for row in rows],
        }
    )


def _definition(name: str) -> Json:
    form = "name" if name == "Name" else ""
    return {"name": name, "type": "string", "format": form, "description": "", "priority": 0}


def _row(obj: Json, columns: Mapping[str, Cell], now: datetime) -> Json:
    meta = obj["metadata"]
    cells = [meta["name"], *(cell(obj) for cell in columns.values()), _age(meta["creationTimestamp"], now)]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
    return {"cells": cells, "object": partial}


def _age(created: str, now: datetime) -> str:
    seconds = max(int((now - parse_stamp(created)).total_seconds()), 0)
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


def _at(*path: str) -> Cell:
    def read(obj: Json) -> str:
        value: object = obj
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return "" if value is None else str(value)

    return read


def _condition(name: str, field: str = "status") -> Cell:
    def read(obj: Json) -> str:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return next((str(c.get(field, "")) for c in conditions if c.get("type") == name), "")

    return read


def _pod_ready(pod: Json) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ready = sum(1 for status in statuses if status.get("ready"))
    return f"{ready}/{len(pod['spec'].get('containers') or ())}"


def _pod_status(pod: Json) -> str:
    return "Terminating" if "deletionTimestamp" in pod["metadata"] else _at("status", "phase")(pod)


def _node_status(node: Json) -> str:
    ready = "Ready" if _condition("Ready")(node) == "True" else "NotReady"
    cordoned = (node.get("spec") or {}).get("unschedulable")
    return f"{ready},SchedulingDisabled" if cordoned else ready


_COLUMNS: dict[Kind, dict[str, Cell]] = {
    PODS: {"Ready": _pod_ready, "Status": _pod_status, "Node": _at("spec", "nodeName")},
    NODES: {"Status": _node_status},
    JOBSETS: {
        "TerminalState": _at("status", "terminalState"),
        "Restarts": _at("status", "restarts"),
        "Completed": _condition("Completed"),
        "Suspended": _at("spec", "suspend"),
    },
    WORKLOADS: {
        "Queue": _at("spec", "queueName"),
        "Reserved in": _at("status", "admission", "clusterQueue"),
        "Admitted": _condition("Admitted"),
        "Finished": _condition("Finished"),
    },
    LOCALQUEUES: {
        "ClusterQueue": _at("spec", "clusterQueue"),
        "Pending Workloads": _at("status", "pendingWorkloads"),
        "Admitted Workloads": _at("status", "admittedWorkloads"),
    },
    CLUSTERQUEUES: {
        "Cohort": _at("spec", "cohortName"),
        "Pending Workloads": _at("status", "pendingWorkloads"),
    },
    WORKLOADMIXINGS: {"Ready": _condition("Ready"), "Reason": _condition("Ready", "reason")},
}
