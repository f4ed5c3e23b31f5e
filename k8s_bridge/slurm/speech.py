"""What people are told: the text on the job (admin_comment) and the events, in one place.

A text is `k8s-bridge: <Reason>: <sentence>`, written when the reason changes, not for every changed number.
"""

from __future__ import annotations

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.slurm.effects import Effect, SetText
from k8s_bridge.slurm.facts import TEXT_PREFIX, Facts
from k8s_bridge.slurm.unit import State

TEXT_MAX = 480
SETTLE = 2.0
"""Seconds a waiting state must last before it is written to the job: short waits cost no call."""
REFRESH = 60.0
"""Seconds between two texts of the same reason."""

_AT_ONCE = frozenset({State.REFUSED, State.INELIGIBLE, State.HELD_BY_OTHER, State.TRESPASS, State.DENIED})
_SETTLED = frozenset({State.QUEUED, State.ADMITTED, State.PARKED})

_ONE_LOSS = frozenset({State.EVICTED, State.LOST})
"""Of a job that goes back to the queue both may show in turn; the first one knows why."""
_EVENTS: dict[State, tuple[EventType, str]] = {
    State.RELEASED: (EventType.NORMAL, "Released"),
    State.EVICTED: (EventType.WARNING, "Evicted"),
    State.LOST: (EventType.WARNING, "CapacityLost"),
    State.HELD_BY_OTHER: (EventType.NORMAL, "HeldByOther"),
    State.TRESPASS: (EventType.WARNING, "Trespass"),
    State.PARKED: (EventType.WARNING, "QuotaReturned"),
    State.FAILED: (EventType.WARNING, "CapacityFailed"),
    State.REFUSED: (EventType.WARNING, "Refused"),
    State.RESIZED: (EventType.NORMAL, "Resized"),
    State.DRAINING: (EventType.NORMAL, "JobOver"),
}


def say(reason: str, sentence: str) -> str:
    """The text for a job's admin_comment, cut to what Slurm shows well."""
    return f"{TEXT_PREFIX}{reason}: {sentence}"[:TEXT_MAX]


def speak(facts: Facts, state: State, decision: Decision[Effect], now: float) -> Decision[Effect]:
    """The decision in `state`, with the event of a change and the text that the job should carry."""
    settled = _settled(facts, state, now)
    return Decision(
        state=state,
        effects=(
            *decision.effects,
            *_event(facts, state, decision.text),
            *(_text(facts, decision, now) if settled or state in _AT_ONCE else ()),
        ),
        after=_after(decision.after, settled=settled) if state in _SETTLED else decision.after,
        reason=decision.reason,
        text=decision.text,
    )


def _event(facts: Facts, state: State, text: str) -> tuple[Effect, ...]:
    seen, jobset = facts.unit.seen, facts.unit.jobset
    if seen is None or seen.state is state or jobset is None or state not in _EVENTS:
        return ()
    if {seen.state, state} <= _ONE_LOSS:
        return ()
    kind, reason = _EVENTS[state]
    message = f"Slurm job {facts.unit.key}: {text or state.value}"
    return (Event(ref=ObjectRef.to(jobset), type=kind, reason=reason, message=message),)


def _text(facts: Facts, decision: Decision[Effect], now: float) -> tuple[Effect, ...]:
    job, seen = facts.unit.job, facts.unit.seen
    if job is None or not decision.reason or facts.unit.slot is not None:  # the array speaks for its slots
        return ()
    wanted = say(decision.reason, decision.text)
    if wanted == job.admin_comment:
        return ()
    same_reason = job.admin_comment.startswith(f"{TEXT_PREFIX}{decision.reason}: ")
    if same_reason and now - (seen.text_at if seen else now) < REFRESH:
        return ()
    return (SetText(job_id=job.job_id, text=wanted),)


def _settled(facts: Facts, state: State, now: float) -> bool:
    seen = facts.unit.seen
    return state in _SETTLED and seen is not None and seen.state is state and now - seen.since >= SETTLE


def _after(after: float | None, *, settled: bool) -> float | None:
    if settled:
        return after
    return SETTLE if after is None else min(SETTLE, after)
