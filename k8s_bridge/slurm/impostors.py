"""JobSets that bear our labels and were not made by a bridge: left alone, and told of. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from api.views import JobSet
from k8s_bridge.core.effects import Event, EventType, ObjectRef

_NAMED = 3
"""So many are named in a condition."""


def warning(jobset: JobSet) -> Event:
    """What its maker is told."""
    message = "It bears the labels of k8s-bridge, which did not make it: no Slurm job is served by it"
    return Event(ref=ObjectRef.to(jobset), type=EventType.WARNING, reason="NotOurs", message=message)


def note(jobsets: Sequence[JobSet]) -> tuple[str, ...]:
    """What the platform's people are told; nothing when there is none."""
    if not jobsets:
        return ()
    names = sorted(jobset.metadata.name for jobset in jobsets)
    more = ", …" if len(names) > _NAMED else ""
    return (f"{len(names)} JobSet(s) only bear our labels: {', '.join(names[:_NAMED])}{more}",)
