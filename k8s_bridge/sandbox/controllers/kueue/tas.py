"""What is left on the nodes for topology-aware admission. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kueue.model import Flavor
from k8s_bridge.sandbox.controllers.kueue.templates import WORKLOAD
from k8s_bridge.sandbox.controllers.kueue.topology import HOSTNAME, FreeNode, hosts
from k8s_bridge.sandbox.controllers.podspec import requests
from k8s_bridge.sandbox.controllers.quantity import Amounts, amounts


def has_topology(workload: Json) -> bool:
    """Whether an admitted Workload was given hosts."""
    return any("topologyAssignment" in a for a in workload["status"]["admission"]["podSetAssignments"])


def free_nodes(
    flavor: Flavor,
    nodes: Iterable[Json],
    placed: Mapping[str, Mapping[Key, Json]],
    assigned: Iterable[Json],
) -> list[FreeNode]:
    """The usable nodes of a flavor, less other pods and less what `assigned` Workloads were promised."""
    assigned = list(assigned)
    names = {(w["metadata"]["namespace"], w["metadata"]["name"]) for w in assigned}
    promised = _promised(assigned)
    free: list[FreeNode] = []
    for node in nodes:
        labels = node["metadata"].get("labels") or {}
        usable = conditions.is_true(node, "Ready") and not (node.get("spec") or {}).get("unschedulable")
        if not usable or any(labels.get(k) != v for k, v in flavor.labels.items()):
            continue
        left = Counter(amounts(node["status"].get("allocatable") or {}))
        left.subtract(promised.get(labels.get(HOSTNAME, ""), Counter()))
        for pod in placed.get(node["metadata"]["name"], {}).values():
            if (pod["metadata"]["namespace"], _workload_of(pod)) not in names:
                left.subtract(requests(pod["spec"]))
        free.append(FreeNode(labels=labels, free=left))
    return free


def _workload_of(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(WORKLOAD, ""))


def _promised(workloads: Iterable[Json]) -> dict[str, Amounts]:
    taken: dict[str, Amounts] = {}
    for found in workloads:
        specs = {p["name"]: p["template"]["spec"] for p in found["spec"]["podSets"]}
        for pods in found["status"]["admission"]["podSetAssignments"]:
            for selector in hosts(pods["topologyAssignment"]) if "topologyAssignment" in pods else ():
                taken.setdefault(selector.get(HOSTNAME, ""), Counter()).update(requests(specs[pods["name"]]))
    return taken
