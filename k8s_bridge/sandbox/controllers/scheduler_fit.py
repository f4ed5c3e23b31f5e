"""Which node takes a pod, or what every node lacks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.podspec import requests, tolerates
from k8s_bridge.sandbox.controllers.quantity import Amounts, amounts

_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
_TAINTED = "node(s) had untolerated taint(s)"
_UNSCHEDULABLE = "node(s) were unschedulable"
_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
_LACKING = "Insufficient "


def choose(
    pod: Json,
    nodes: Sequence[Json],
    used: Mapping[str, Amounts],
    neighbours: Mapping[str, Mapping[Key, Json]],
) -> tuple[str, str]:
    """(node, "") or ("", why not). The emptiest node by cpu wins, the first of equals."""
    wanted = requests(pod["spec"])
    wanted["pods"] = 1
    reasons: Counter[str] = Counter()
    fitting: list[tuple[float, int, str]] = []
    hopeless = 0
    for number, node in enumerate(nodes):
        name = node["metadata"]["name"]
        lacks = _lacks(pod, wanted, node, used.get(name, Counter()), neighbours.get(name, {}).values())
        reasons.update(lacks)
        if not lacks:
            fitting.append((_load(node, used.get(name, Counter())), number, name))
        hopeless += not all(_could_be_freed(node, wanted, lack) for lack in lacks)
    if fitting:
        return min(fitting)[2], ""
    return "", message(reasons, len(nodes), hopeless=hopeless)


def message(reasons: Counter[str], count: int, *, hopeless: int) -> str:
    """The scheduler's sentence when no node fits. `hopeless`: nodes where no preemption would help."""
    if not count:
        return "no nodes available to schedule pods"
    listed = ", ".join(sorted(f"{n} {text}" for text, n in reasons.items()))
    parts = []
    if hopeless:
        parts.append(f"{hopeless} Preemption is not helpful for scheduling")
    if count > hopeless:
        parts.append(f"{count - hopeless} No preemption victims found for incoming pod")
    head = f"0/{count} nodes are available"
    return f"{head}: {listed}. no new claims to deallocate, preemption: {head}: {', '.join(parts)}."


def _load(node: Json, used: Amounts) -> float:
    total = amounts(node["status"].get("allocatable") or {})
    return used["cpu"] / total["cpu"] if total["cpu"] else 1.0


def _lacks(pod: Json, wanted: Amounts, node: Json, used: Amounts, neighbours: Iterable[Json]) -> list[str]:
    spec = node.get("spec") or {}
    if spec.get("unschedulable"):
        return [_UNSCHEDULABLE]
    hard = [t for t in spec.get("taints") or () if t.get("effect") in ("NoSchedule", "NoExecute")]
    if any(not tolerates(pod["spec"], taint) for taint in hard):
        return [_TAINTED]
    if not _selected(pod["spec"], node["metadata"].get("labels") or {}):
        return [_AFFINITY]
    if _repelled(pod, neighbours):
        return [_ANTI_AFFINITY]
    total = amounts(node["status"].get("allocatable") or {})
    return [f"{_LACKING}{r}" for r, n in sorted(wanted.items()) if n and used[r] + n > total[r]]


def _could_be_freed(node: Json, wanted: Amounts, lack: str) -> bool:
    resource = lack.removeprefix(_LACKING)
    return resource != lack and wanted[resource] <= amounts(node["status"].get("allocatable") or {})[resource]


def _selected(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    if any(labels.get(k) != v for k, v in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    return not terms or any(matches(term.get("matchExpressions") or (), labels) for term in terms)


def _repelled(pod: Json, neighbours: Iterable[Json]) -> bool:
    """Whether pods on the node and this pod keep each other away (required, by host)."""
    return any(_keeps_away(pod, other) or _keeps_away(other, pod) for other in neighbours)


def _keeps_away(pod: Json, other: Json) -> bool:
    rules = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    labels = other["metadata"].get("labels") or {}
    for term in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        selector = term.get("labelSelector") or {}
        exact = selector.get("matchLabels") or {}
        same = all(labels.get(k) == v for k, v in exact.items())
        if selector and same and matches(selector.get("matchExpressions") or (), labels):
            return True
    return False


def matches(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Whether labels meet all expressions of a selector."""
    return all(_matches(e["operator"], labels.get(e["key"]), e.get("values") or ()) for e in expressions)


def _matches(operator: str, value: str | None, values: Sequence[str]) -> bool:
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case _:
            return value is not None and int(value) < int(values[0])
