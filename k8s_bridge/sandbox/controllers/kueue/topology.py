"""Topology-aware assignment: which domains take the pods of a pod set. Pure.

Nodes are given as free capacity; the levels of a topology run from the widest to the narrowest label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.kueue.model import PodSet

HOSTNAME = "kubernetes.io/hostname"
Domain = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The spec of a Topology object: node labels from the widest level to the narrowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeNode:
    """A usable node and what is left on it."""

    labels: Mapping[str, str]
    free: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Pods per narrowest domain, in order; `fitting` < count means it does not fit."""

    levels: tuple[str, ...]
    domains: tuple[tuple[Domain, int], ...]
    fitting: int


def place(topology: Topology, nodes: Sequence[FreeNode], pods: PodSet) -> Placement:
    """The best-fit placement of a pod set; a level that the topology lacks fits nothing."""
    leaves = _leaves(topology, nodes, pods)
    request = pods.topology
    wanted = request.required or request.preferred
    if wanted and wanted not in topology.levels:
        return Placement(levels=topology.levels, domains=(), fitting=0)
    depth = topology.levels.index(wanted) + 1 if wanted else 0
    best = _roomiest(leaves, depth, pods.count)
    while best[1] < pods.count and not request.required and depth:
        depth -= 1
        best = _roomiest(leaves, depth, pods.count)
    inside = {domain: n for domain, n in leaves.items() if domain[:depth] == best[0]}
    chosen = _fill(inside, pods.count) if best[1] >= pods.count else ()
    return Placement(levels=topology.levels, domains=chosen, fitting=min(best[1], pods.count))


def _leaves(topology: Topology, nodes: Sequence[FreeNode], pods: PodSet) -> Counter[Domain]:
    leaves: Counter[Domain] = Counter()
    for node in nodes:
        if all(level in node.labels for level in topology.levels):
            leaves[tuple(node.labels[level] for level in topology.levels)] += _room(node, pods)
    return leaves


def _room(node: FreeNode, pods: PodSet) -> int:
    return max(0, min((node.free.get(r, 0) // n for r, n in pods.unit.items() if n), default=pods.count))


def _roomiest(leaves: Counter[Domain], depth: int, count: int) -> tuple[Domain, int]:
    """The smallest domain of a level that takes all, else the largest."""
    domains: Counter[Domain] = Counter()
    for leaf, n in leaves.items():
        domains[leaf[:depth]] += n
    if not domains:
        return ((), 0)
    enough = sorted((n, domain) for domain, n in domains.items() if n >= count)
    if enough:
        return (enough[0][1], enough[0][0])
    return max(domains.items(), key=lambda item: item[1])


def _fill(leaves: Counter[Domain] | dict[Domain, int], count: int) -> tuple[tuple[Domain, int], ...]:
    """Few domains, the largest first; the last one is the smallest that takes the rest."""
    chosen: list[tuple[Domain, int]] = []
    free = dict(leaves)
    while count:
        enough = sorted((n, domain) for domain, n in free.items() if n >= count)
        domain = enough[0][1] if enough else min(free, key=lambda d: (-free[d], d))
        taken = min(free.pop(domain), count)
        chosen.append((domain, taken))
        count -= taken
    return tuple(sorted(chosen))


def assignment(placement: Placement) -> Json:
    """The topologyAssignment of a podSetAssignment: only host names where the narrowest level is the host."""
    first = len(placement.levels) - 1 if placement.levels[-1] == HOSTNAME else 0
    levels = placement.levels[first:]
    counts = [n for _, n in placement.domains]
    columns = [[domain[first + n] for domain, _ in placement.domains] for n in range(len(levels))]
    counted = {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts}
    return {
        "levels": list(levels),
        "slices": [
            {
                "domainCount": len(counts),
                "podCounts": counted,
                "valuesPerLevel": [_column(values) for values in columns],
            }
        ],
    }


def _column(values: list[str]) -> Json:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    prefix = "".join(c[0] for c in takewhile(lambda c: len(set(c)) == 1, zip(*values, strict=False)))
    roots = [value[len(prefix) :] for value in values]
    return {"individual": {"prefix": prefix, "roots": roots} if prefix else {"roots": roots}}


def hosts(assigned: Json) -> list[dict[str, str]]:
    """The node selector of each pod of an assignment, in the order of their indexes."""
    selectors: list[dict[str, str]] = []
    for part in assigned["slices"]:
        size = part["domainCount"]
        columns = [_values(column, size) for column in part["valuesPerLevel"]]
        counts = part["podCounts"].get("individual") or [part["podCounts"]["universal"]] * size
        for n in range(size):
            selector = {level: columns[i][n] for i, level in enumerate(assigned["levels"])}
            selectors += [selector] * counts[n]
    return selectors


def _values(column: Json, size: int) -> list[str]:
    if "universal" in column:
        return [column["universal"]] * size
    individual = column["individual"]
    return [individual.get("prefix", "") + root for root in individual["roots"]]
