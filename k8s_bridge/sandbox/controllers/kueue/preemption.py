"""Whom to stop so that a Workload fits. Pure: simulates on the ledger and leaves it as it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.kueue.assign import Assignment
from k8s_bridge.sandbox.controllers.kueue.messages import PreemptionReason
from k8s_bridge.sandbox.controllers.kueue.model import ClusterQueue, Policy, Usage, Workload
from k8s_bridge.sandbox.controllers.kueue.quota import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A Workload that holds quota. `reserved`: since when, seconds since the epoch."""

    workload: Workload
    queue: str
    usage: Usage
    reserved: float
    admitted: bool = False
    evicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A holder that has to go, and why."""

    holder: Holder
    reason: PreemptionReason


def victims(
    ledger: Ledger,
    workload: Workload,
    assignment: Assignment,
    holders: Mapping[str, Mapping[Key, Holder]],
    *,
    at: str,
) -> tuple[Victim, ...]:
    """The fewest holders, least important first, whose end makes room; empty if that cannot be."""
    queue = ledger.queues[at]
    candidates = sorted(
        (h for h in _candidates(ledger, workload, assignment, holders, queue)),
        key=lambda h: (not h.evicted, h.queue == at, h.workload.priority, -h.reserved, h.workload.uid),
    )
    own = [h for h in candidates if h.queue == at]
    borrowing = ledger.would_borrow(at, assignment.usage)
    if len(own) < len(candidates) and not (borrowing and _over_nominal(ledger, queue, assignment)):
        chosen = _minimal(ledger, queue, assignment, candidates, borrow=False)
        if chosen:
            return _as_victims(chosen, at)
    return _as_victims(_minimal(ledger, queue, assignment, own, borrow=True), at)


def _as_victims(chosen: Sequence[Holder], at: str) -> tuple[Victim, ...]:
    return tuple(
        Victim(
            holder=h,
            reason=PreemptionReason.IN_CLUSTER_QUEUE if h.queue == at else PreemptionReason.IN_COHORT,
        )
        for h in chosen
    )


def _candidates(
    ledger: Ledger,
    workload: Workload,
    assignment: Assignment,
    holders: Mapping[str, Mapping[Key, Holder]],
    queue: ClusterQueue,
) -> Iterable[Holder]:
    for name in sorted(ledger.family(queue.name)):
        same = name == queue.name
        if not same and not any(ledger.borrowed(name, fr) for fr in assignment.scarce):
            continue
        policy = queue.within if same else queue.reclaim
        for holder in holders.get(name, {}).values():
            uses = any(holder.usage.get(fr, 0) for fr in assignment.scarce)
            if uses and _may_stop(policy, workload, holder.workload):
                yield holder


def _may_stop(policy: Policy, workload: Workload, other: Workload) -> bool:
    match policy:
        case Policy.NEVER:
            return False
        case Policy.ANY:
            return True
        case Policy.LOWER_PRIORITY:
            return other.priority < workload.priority
        case Policy.LOWER_OR_NEWER_EQUAL:
            return (other.priority, -other.since) < (workload.priority, -workload.since)


def _over_nominal(ledger: Ledger, queue: ClusterQueue, assignment: Assignment) -> bool:
    return any(
        ledger.used(queue.name, fr) >= ledger.quota(queue.name, fr).nominal for fr in assignment.scarce
    )


def _minimal(
    ledger: Ledger, queue: ClusterQueue, assignment: Assignment, candidates: Sequence[Holder], *, borrow: bool
) -> list[Holder]:
    def fits() -> bool:
        if not borrow and ledger.would_borrow(queue.name, assignment.usage):
            return False
        return ledger.fits(queue.name, assignment.usage)

    out: list[Holder] = []
    done = False
    for holder in candidates:
        if holder.queue != queue.name and not any(
            ledger.borrowed(holder.queue, fr) for fr in assignment.scarce
        ):
            continue
        ledger.remove(holder.queue, holder.usage)
        out.append(holder)
        if done := fits():
            break
    kept = _spare(ledger, out, fits) if done else []
    for holder in out:
        if not done or holder in kept:
            ledger.add(holder.queue, holder.usage)
    return kept


def _spare(ledger: Ledger, out: Sequence[Holder], fits: object) -> list[Holder]:
    """`out` less those that can stay after all, the most important first; the last one is always needed."""
    assert callable(fits)
    kept = list(out)
    for holder in reversed(out[:-1]):
        ledger.add(holder.queue, holder.usage)
        if fits():
            kept.remove(holder)
        else:
            ledger.remove(holder.queue, holder.usage)
    return kept
