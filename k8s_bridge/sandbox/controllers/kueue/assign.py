"""Which flavors a Workload gets in its ClusterQueue, or why none. Pure: reads the ledger, changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from k8s_bridge.sandbox.controllers.kueue import messages
from k8s_bridge.sandbox.controllers.kueue.model import (
    ClusterQueue,
    Flavor,
    FlavorResource,
    PodSet,
    ResourceGroup,
    Usage,
    Workload,
)
from k8s_bridge.sandbox.controllers.kueue.quota import Ledger
from k8s_bridge.sandbox.controllers.kueue.topology import FreeNode, Placement, Topology, place
from k8s_bridge.sandbox.controllers.podspec import tolerates
from k8s_bridge.sandbox.controllers.quantity import Amounts, times


class Mode(IntEnum):
    """How far a Workload is from running; higher is better."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What there is besides quota. `nodes` gives the free nodes of a TAS flavor."""

    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    nodes: Callable[[Flavor], Sequence[FreeNode]] = lambda _: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSetAssignment:
    """The flavor of each resource of a pod set, what the set takes in all, and where its pods go."""

    name: str
    count: int
    flavors: Mapping[str, str]
    total: Amounts
    placement: Placement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The outcome for a whole Workload. `scarce`: where preemption would have to make room."""

    mode: Mode
    pod_sets: tuple[PodSetAssignment, ...] = ()
    usage: Usage = field(default_factory=dict)
    scarce: frozenset[FlavorResource] = frozenset()
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """One flavor tried for one resource group of one pod set."""

    mode: Mode
    flavor: str = ""
    reasons: tuple[str, ...] = ()
    scarce: frozenset[FlavorResource] = frozenset()
    placement: Placement | None = None


def assign(ledger: Ledger, queue: ClusterQueue, workload: Workload, inventory: Inventory) -> Assignment:
    """Try all pod sets; what earlier ones take counts for later ones."""
    taken: Counter[FlavorResource] = Counter()
    done: list[PodSetAssignment] = []
    texts: list[str] = []
    scarce: set[FlavorResource] = set()
    worst = Mode.FIT
    for pods in workload.pod_sets:
        total = _total(queue, pods)
        choices = [_best(ledger, queue, g, pods, total, taken, inventory) for g in _groups(queue, total)]
        reasons = [messages.uncovered(r) for r in sorted(set(total) - _covered(queue))]
        mode = Mode.NO_FIT if reasons else min((c.mode for c in choices), default=Mode.FIT)
        reasons += [r for c in choices if c.mode < Mode.FIT for r in c.reasons]
        if reasons:
            texts.append(messages.not_assigned(pods.name, reasons))
        worst = min(worst, mode)
        if mode == Mode.NO_FIT:
            continue
        flavors = {
            r: c.flavor for g, c in zip(_groups(queue, total), choices, strict=True) for r in g.resources
        }
        used = {r: flavors[r] for r in total}
        taken.update({(f, r): total[r] for r, f in used.items()})
        scarce.update(fr for c in choices for fr in c.scarce)
        spot = next((c.placement for c in choices if c.placement), None)
        done.append(
            PodSetAssignment(name=pods.name, count=pods.count, flavors=used, total=total, placement=spot)
        )
    return Assignment(
        mode=worst, pod_sets=tuple(done), usage=taken, scarce=frozenset(scarce), message="; ".join(texts)
    )


def _total(queue: ClusterQueue, pods: PodSet) -> Amounts:
    total = times(pods.unit, pods.count)
    if "pods" in _covered(queue):
        total["pods"] = pods.count
    return total


def _covered(queue: ClusterQueue) -> set[str]:
    return {r for g in queue.groups for r in g.resources}


def _groups(queue: ClusterQueue, total: Amounts) -> list[ResourceGroup]:
    return [g for g in queue.groups if any(r in total for r in g.resources)]


def _best(  # noqa: PLR0913, PLR0917 - one step of assign, with all it has at hand
    ledger: Ledger,
    queue: ClusterQueue,
    group: ResourceGroup,
    pods: PodSet,
    total: Amounts,
    taken: Counter[FlavorResource],
    inventory: Inventory,
) -> _Choice:
    """The first flavor that fits, else the first where preemption may help, else all reasons together."""
    best = _Choice(mode=Mode.NO_FIT)
    reasons: list[str] = []
    wanted = {r: total[r] for r in group.resources if r in total}
    for name in group.flavors:
        choice = _unusable(name, pods, inventory) or _by_quota(ledger, queue, name, wanted, taken)
        if choice.mode > Mode.NO_FIT and pods.topology:
            choice = _by_topology(choice, pods, inventory)
        if choice.mode == Mode.FIT:
            return choice
        reasons += choice.reasons
        best = max(best, choice, key=lambda c: c.mode)
    return _Choice(mode=best.mode, flavor=best.flavor, reasons=tuple(reasons), scarce=best.scarce)


def _unusable(name: str, pods: PodSet, inventory: Inventory) -> _Choice | None:
    flavor = inventory.flavors.get(name)
    if flavor is None:
        return _Choice(mode=Mode.NO_FIT, reasons=(messages.no_flavor(name),))
    if pods.topology and not flavor.topology:
        return _Choice(mode=Mode.NO_FIT, reasons=(messages.no_topology(name),))
    selected = pods.spec.get("nodeSelector") or {}
    if any(selected[key] != value for key, value in flavor.labels.items() if key in selected):
        return _Choice(mode=Mode.NO_FIT, reasons=(messages.wrong_affinity(name),))
    hard = [t for t in flavor.taints if t.get("effect") in ("NoSchedule", "NoExecute")]
    bare = [
        t
        for t in hard
        if not tolerates(pods.spec, t) and not tolerates({"tolerations": flavor.tolerations}, t)
    ]
    if bare:
        return _Choice(mode=Mode.NO_FIT, reasons=(f"untolerated taint {bare[0]['key']} in flavor {name}",))
    return None


def _by_quota(
    ledger: Ledger,
    queue: ClusterQueue,
    flavor: str,
    wanted: Amounts | dict[str, int],
    taken: Counter[FlavorResource],
) -> _Choice:
    mode, reasons, scarce = Mode.FIT, [], set()
    for resource, request in wanted.items():
        fr = (flavor, resource)
        need = request + taken[fr]
        capacity, free = ledger.potential(queue.name, fr), ledger.available(queue.name, fr)
        if need > capacity:
            before = taken[fr]
            reasons.append(
                messages.beyond(resource, flavor, before=before, request=request, capacity=capacity)
            )
            mode = Mode.NO_FIT
        elif need > free:
            reasons.append(messages.lacking(resource, flavor, need - free))
            scarce.add(fr)
            reclaimable = need <= ledger.quota(queue.name, fr).nominal
            mode = min(mode, Mode.PREEMPT if reclaimable else Mode.NO_FIT)
    return _Choice(mode=mode, flavor=flavor, reasons=tuple(reasons), scarce=frozenset(scarce))


def _by_topology(choice: _Choice, pods: PodSet, inventory: Inventory) -> _Choice:
    flavor = inventory.flavors[choice.flavor]
    topology = inventory.topologies.get(flavor.topology)
    if topology is None:
        return _Choice(mode=Mode.NO_FIT, reasons=(messages.no_flavor(flavor.topology),))
    placement = place(topology, inventory.nodes(flavor), pods)
    if placement.fitting < pods.count:
        short = messages.topology_short(topology.name, fitting=placement.fitting, wanted=pods.count)
        return _Choice(mode=Mode.NO_FIT, reasons=(*choice.reasons, short))
    return _Choice(
        mode=choice.mode,
        flavor=choice.flavor,
        reasons=choice.reasons,
        scarce=choice.scarce,
        placement=placement,
    )
