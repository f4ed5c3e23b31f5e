"""What people are told: annotations on the RayJob, and events on it, in one place. Pure."""

from __future__ import annotations

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.ray import names
from k8s_bridge.ray.effects import Effect
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.moves.common import note, since
from k8s_bridge.ray.unit import State

_SETTLE = 2.0
"""Seconds that a waiting state must last before it is written: short waits cost no call."""
_TEXT_MAX = 1024

_SETTLED = frozenset({State.QUEUED, State.ADMITTED, State.READY, State.CLUSTER, State.DENIED})
_AT_ONCE = frozenset(
    {
        State.REFUSED,
        State.BYPASSED,
        State.INTERACTIVE,
        State.EXHAUSTED,
        State.SPENT,
        State.RUNNING,
        State.FINISHED,
    }
)
_EVENTS: dict[State, EventType] = {
    State.REFUSED: EventType.WARNING,
    State.BYPASSED: EventType.WARNING,
    State.INTERACTIVE: EventType.WARNING,
    State.DENIED: EventType.WARNING,
    State.EXHAUSTED: EventType.WARNING,
    State.SPENT: EventType.WARNING,
    State.EVICTED: EventType.WARNING,
    State.LOST: EventType.WARNING,
    State.RELEASED: EventType.NORMAL,
    State.RUNNING: EventType.NORMAL,
}
_DENIED = "TranslationFailed"
"""The event of a JobSet that could not be made, whatever refused it."""


def speak(facts: Facts, state: State, verdict: Decision[Effect], now: float) -> Decision[Effect]:
    """The verdict in `state`, with what its owner should read: where it stands, and events of changes."""
    effects, after = verdict.effects, verdict.after
    if facts.unit.job is not None:
        lasts = 0.0
        if state in _SETTLED:
            seen = facts.unit.seen
            lasts = _SETTLE if seen is None or seen.state is not state else _SETTLE - since(facts, now)
        if lasts > 0:
            after = lasts if after is None else min(lasts, after)
        elif state in _SETTLED or state in _AT_ONCE:
            effects += _annotated(facts, state, verdict)
        effects += _event(facts, state, verdict)
    return Decision(state=state.value, effects=effects, after=after, reason=verdict.reason, text=verdict.text)


def _annotated(facts: Facts, state: State, decision: Decision[Effect]) -> tuple[Effect, ...]:
    message = f"{decision.reason}: {decision.text}"[:_TEXT_MAX]
    there = facts.annotations
    same = there.get(names.MESSAGE, "").partition(": ")[0] == decision.reason
    if there.get(names.STATE) == state.value and same:
        return ()
    return (note(facts, {names.STATE: state.value, names.MESSAGE: message}),)


def _event(facts: Facts, state: State, decision: Decision[Effect]) -> tuple[Effect, ...]:
    seen = facts.unit.seen
    if seen is not None and seen.state is state:
        return ()
    ref = ObjectRef.to(facts.job)
    if state is State.FINISHED and facts.words:
        return (Event(ref=ref, type=EventType.WARNING, reason="JobFailed", message=decision.text),)
    if state not in _EVENTS:
        return ()
    reason = _DENIED if state is State.DENIED else decision.reason
    return (Event(ref=ref, type=_EVENTS[state], reason=reason, message=decision.text or state.value),)
