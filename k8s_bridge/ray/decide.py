"""The state machine of an inner RayJob: one ordered table, first row that holds wins.

Pure and total. State is read off Kubernetes each time; memory adds only since when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from k8s_bridge.core.decision import Decision
from k8s_bridge.ray import moves
from k8s_bridge.ray import predicates as is_
from k8s_bridge.ray.effects import Effect
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.speech import speak
from k8s_bridge.ray.unit import State, Unit


@dataclass(frozen=True, slots=True)
class Row:
    """In `state` when `holds`; `move` says what to do, given the facts and the time."""

    state: State
    holds: Callable[[Facts], bool]
    move: Callable[[Facts, float], Decision[Effect]]


TABLE = (
    # the job is gone, or not for us
    Row(State.FOREIGN, is_.foreign, moves.let_go),
    Row(State.DONE, is_.left_nothing, moves.nothing),
    Row(State.DRAINING, is_.gone, moves.give_back),
    Row(State.INTERACTIVE, is_.interactive, moves.report_interactive),
    # the job was let go, and lost what it ran on
    Row(State.FINISHED, is_.final, moves.finish),
    Row(State.REQUEUING, is_.requeuing, moves.submit_anew),
    Row(State.SPENT, is_.spent, moves.give_up),
    Row(State.EVICTED, is_.evicted, moves.requeue),
    Row(State.LOST, is_.lost, moves.requeue),
    # the job is over
    Row(State.FINISHED, is_.over, moves.finish),
    Row(State.DONE, is_.done, moves.retire),
    # the job is held
    Row(State.BYPASSED, is_.bypassed, moves.report_bypass),
    Row(State.REFUSED, is_.refused, moves.refuse),
    Row(State.CLUSTER, is_.without_cluster, moves.await_cluster),
    Row(State.EXHAUSTED, is_.exhausted, moves.report_exhausted),
    Row(State.DENIED, is_.denied, moves.report_denial),
    Row(State.HELD, is_.without_jobset, moves.ask),
    # capacity was asked for
    Row(State.RESIZED, is_.resized, moves.ask_anew),
    Row(State.FAILED, is_.failed, moves.make_again),
    Row(State.QUEUED, is_.queued, moves.await_quota),
    # there is capacity
    Row(State.READY, is_.ready, moves.release),
    Row(State.RUNNING, is_.running, moves.follow),
    Row(State.RELEASED, is_.released, moves.await_start),
    Row(State.ADMITTED, is_.admitted, moves.await_workers),
)


def decide(unit: Unit, *, now: float) -> Decision[Effect]:
    """The verdict on one unit at `now` (Unix seconds)."""
    facts = Facts(unit)
    for row in TABLE:  # the last row always holds
        if row.holds(facts):
            break
    return speak(facts, row.state, row.move(facts, now), now)
