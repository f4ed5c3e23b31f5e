"""What several moves share."""

from __future__ import annotations

from collections.abc import Mapping

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Delete, ObjectRef, Patch
from k8s_bridge.ray.effects import Effect
from k8s_bridge.ray.facts import Facts

Verdict = Decision[Effect]


def verdict(reason: str, text: str, *effects: Effect, after: float | None = None) -> Verdict:
    """A decision whose state is filled in by the table."""
    return Decision(state="", effects=effects, after=after, reason=reason, text=text)


def without_workers(facts: Facts) -> tuple[Effect, ...]:
    """The deletion of the JobSet, if there is one."""
    jobset = facts.unit.jobset
    if jobset is None or jobset.metadata.deletion_timestamp is not None:
        return ()
    return (Delete(ref=ObjectRef.to(jobset)),)


def note(facts: Facts, annotations: Mapping[str, str | None]) -> Patch:
    """Annotations of the RayJob."""
    return Patch(ref=ObjectRef.to(facts.job), patch={"metadata": {"annotations": dict(annotations)}})


def since(facts: Facts, now: float) -> float:
    """Seconds in the present state, as far as is known."""
    return now - facts.unit.seen.since if facts.unit.seen else 0.0
