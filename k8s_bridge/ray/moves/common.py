"""What several moves share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def note(
    facts: Facts, annotations: Mapping[str, str | None], *, spec: Mapping[str, int | None] | None = None
) -> Patch:
    """Annotations of the RayJob, and fields of its spec."""
    patch: dict[str, Any] = {"metadata": {"annotations": dict(annotations)}}
    return Patch(ref=ObjectRef.to(facts.job), patch=patch | {"spec": spec} if spec else patch)


def deadline(facts: Facts, *, until: float | None) -> Mapping[str, int | None] | None:
    """The job's deadline as KubeRay counts it, from the start of the submission on; None takes it away."""
    if not facts.deadline:
        return None
    return {"activeDeadlineSeconds": None if until is None else facts.deadline + facts.waited(until)}


def since(facts: Facts, now: float) -> float:
    """Seconds in the present state, as far as is known."""
    return now - facts.unit.seen.since if facts.unit.seen else 0.0
