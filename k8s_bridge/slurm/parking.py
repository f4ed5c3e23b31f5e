"""Giving quota back without losing the record: the Workload is made inactive for a while."""

from __future__ import annotations

from collections.abc import Mapping

from k8s_bridge.core import naming
from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.slurm.effects import Effect
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.unit import Retry

FIRST, LONGEST = 10.0, 600.0
"""Seconds: each further time the pause doubles, up to the longest."""
FACTOR_LIMIT = 6
SOON = 60.0
"""Seconds of the longest pause of a job that is the first to notice when what kept it has changed."""
PARKED = "QuotaReturned"
"""The reason that people see; what led to it is in the text (a text of its own reason could be mistaken)."""


def is_parked(facts: Facts) -> bool:
    """Whether our own mark is on the JobSet."""
    return naming.PARKED in facts.annotations


def park(facts: Facts, now: float, reason: str) -> tuple[Effect, ...]:
    """Mark the JobSet with until-when and why, then deactivate its Workload."""
    jobset = facts.unit.jobset
    if jobset is None:
        return ()
    count = _count(facts)
    text = f"{now + _pause(count):.0f} {count + 1} {reason}"
    annotate = Patch(ref=ObjectRef.to(jobset), patch={"metadata": {"annotations": {naming.PARKED: text}}})
    return (annotate, *deactivate(facts))


def deactivate(facts: Facts) -> tuple[Effect, ...]:
    """Kueue evicts an inactive Workload and keeps it out of the queue."""
    workload = facts.unit.workload
    if workload is None or not workload.spec.active:
        return ()
    return (Patch(ref=ObjectRef.to(workload), patch={"spec": {"active": False}}),)


def unpark_when_due(facts: Facts, now: float, ghosts: tuple[Effect, ...]) -> Decision[Effect]:
    """Stay parked until the time on the mark; then activate. The count stays, so that pauses grow."""
    _, count, reason = mark(facts.annotations)
    until = _until(facts, now)
    workload = facts.unit.workload
    text = f"quota given back after {reason} (attempt {count}); asked for again when the pause is over"
    if now < until:
        return Decision(
            state="", effects=(*ghosts, *deactivate(facts)), reason=PARKED, text=text, after=until - now
        )
    if workload is None:
        return Decision(state="", reason=PARKED, text=text, after=1.0)
    wake = Patch(ref=ObjectRef.to(workload), patch={"spec": {"active": True}})
    unmark = _unmark(facts, count)
    return Decision(state="", effects=(*ghosts, wake, unmark), reason=PARKED, text=text)


def _unmark(facts: Facts, count: int) -> Effect:
    jobset = facts.unit.jobset
    if jobset is None:
        raise LookupError("the mark is on the JobSet")
    patch = {"metadata": {"annotations": {naming.PARKED: None, naming.PARKINGS: str(count)}}}
    return Patch(ref=ObjectRef.to(jobset), patch=patch)


def _count(facts: Facts) -> int:
    text = facts.annotations.get(naming.PARKINGS, "0")
    return int(text) if text.isdecimal() else 0


def _pause(count: int) -> float:
    return min(FIRST * float(2 ** min(count, FACTOR_LIMIT)), LONGEST)


def _until(facts: Facts, now: float) -> float:
    until, count, _ = mark(facts.annotations)
    if facts.unit.retry is Retry.NOW:
        return now
    return until - max(0.0, _pause(count - 1) - SOON) if facts.unit.retry is Retry.SOON else until


def mark(annotations: Mapping[str, str]) -> tuple[float, int, str]:
    """Until when the JobSet with these annotations is parked, for the how manieth time, and why."""
    until, _, rest = annotations[naming.PARKED].partition(" ")
    count, _, reason = rest.partition(" ")
    return float(until or 0), int(count) if count.isdecimal() else 1, reason or "Parked"
