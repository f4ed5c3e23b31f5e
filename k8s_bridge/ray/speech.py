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

_SETTLED = frozenset({State.QUEUED, State.ADMITTED, State.CLUSTER, State.DENIED})
_AT_ONCE = frozenset(
    {
        State.REFUSED,
        State.BYPASSED,
        State.EXHAUSTED,
        State.SPENT,
        State.RUNNING,
        State.FINISHED,
    }
)
_EVENTS: dict[State, EventType] = {
    State.REFUSED: EventType.WARNING,
    State.BYPASSED: EventType.WARNING,
    State.DENIED: EventType.WARNING,
    State.EXHAUSTED: EventType.WARNING,
    State.SPENT: EventType.WARNING,
    State.FAILED: EventType.WARNING,
    State.EVICTED: EventType.WARNING,
    State.LOST: EventType.WARNING,
    State.RELEASED: EventType.NORMAL,
    State.RUNNING: EventType.NORMAL,
}
_DENIED = "TranslationFailed"
"""The event of a JobSet that could not be made, whatever refused it."""


def speak(facts: Facts, state: State, decision: Decision[Effect], now: float) -> Decision[Effect]:
    """The decision with what its owner should read: the state when it lasts, an event when it changes."""
    if facts.unit.job is None:
        return decision
    unsettled = state in _SETTLED and (facts.unit.seen is None or facts.unit.seen.state is not state)
    if state in _AT_ONCE or (state in _SETTLED and not unsettled and since(facts, now) >= _SETTLE):
        decision = decision.also(*_annotated(facts, state, decision))
    decision = decision.also(*_event(facts, state, decision))
    if state in _SETTLED and since(facts, now) < _SETTLE:
        after = _SETTLE if decision.after is None else min(_SETTLE, decision.after)
        return Decision(
            state=decision.state,
            effects=decision.effects,
            after=after,
            reason=decision.reason,
            text=decision.text,
        )
    return decision


def _annotated(facts: Facts, state: State, decision: Decision[Effect]) -> tuple[Effect, ...]:
    message = f"{decision.reason}: {decision.text}"[:_TEXT_MAX]
    there = facts.annotations
    same = there.get(names.MESSAGE, "").partition(": ")[0] == decision.reason
    if there.get(names.STATE) == state.value and same:
        return ()
    return (note(facts, {names.STATE: state.value, names.MESSAGE: message}),)


def _event(facts: Facts, state: State, decision: Decision[Effect]) -> tuple[Effect, ...]:
    seen = facts.unit.seen
    if state not in _EVENTS or (seen is not None and seen.state is state):
        return ()
    reason = _DENIED if state is State.DENIED else decision.reason
    ref = ObjectRef.to(facts.job)
    return (Event(ref=ref, type=_EVENTS[state], reason=reason, message=decision.text or state.value),)
