"""The state machine of a Slurm job: one ordered table, first row that holds wins.

Each row names the state, the fact that shows it and the moves that leave it. Pure and total: every unit is in
exactly one state. State is read off Slurm and Kubernetes each time; memory adds only since when.
"""

from __future__ import annotations

import msgspec

from k8s_bridge.core.decision import Decision
from k8s_bridge.slurm import het, moves
from k8s_bridge.slurm import predicates as is_
from k8s_bridge.slurm.arrays import table as arrays
from k8s_bridge.slurm.arrays.facts import facts_of
from k8s_bridge.slurm.effects import Effect
from k8s_bridge.slurm.row import Row, Table
from k8s_bridge.slurm.speech import speak
from k8s_bridge.slurm.unit import State, Unit

TABLE: Table = (
    # what is not known, or not the job that we knew
    Row(State.UNKNOWN, is_.unknown, moves.look_again),
    Row(State.REPLACED, is_.replaced, moves.give_back),
    # the job is over
    Row(State.DONE, is_.done, moves.nothing),
    Row(State.GUARDED, is_.guarded, moves.report_guard),
    Row(State.RETAINED, is_.retained, moves.keep),
    Row(State.DRAINING, is_.over, moves.drain),
    # the job is not for us
    Row(State.FOREIGN, is_.foreign, moves.let_go),
    # the job has nodes
    Row(State.COMPLETING, is_.completing, moves.help_completing),
    Row(State.EVICTED, is_.active_evicted, moves.evict),
    Row(State.LOST, is_.active_lost, moves.lose),
    Row(State.RUNNING, is_.active, moves.follow),
    # the job is pending and was released
    Row(State.LOST, is_.bad_constraints, moves.take_back),
    Row(State.HELD_BY_OTHER, is_.held_by_other, moves.respect_hold),
    Row(State.EVICTED, is_.pending_evicted, moves.take_back),
    Row(State.LOST, is_.pending_lost, moves.take_back),
    Row(State.WITHHELD, is_.withheld, moves.await_slurm),
    Row(State.RELEASED, is_.released, moves.await_start),
    # the job is pending and ours to hold
    Row(State.HELD, is_.escaped, moves.hold_again),
    Row(State.REFUSED, is_.refused, moves.refuse),
    Row(State.INELIGIBLE, is_.ineligible, moves.await_eligibility),
    Row(State.TURN, is_.out_of_turn, moves.await_turn),
    Row(State.DENIED, is_.denied, moves.report_denial),
    Row(State.HELD, is_.without_jobset, moves.ask),
    # capacity was asked for
    Row(State.RESIZED, is_.resized, moves.ask_anew),
    Row(State.FAILED, is_.capacity_failed, moves.ask_anew),
    Row(State.PARKED, is_.parked, moves.unpark_when_due),
    Row(State.QUEUED, is_.queued, moves.await_quota),
    Row(State.TRESPASS, is_.trespassed, moves.report_trespass),
    Row(State.READY, is_.ready, moves.release),
    Row(State.ADMITTED, is_.admitted, moves.await_nodes),
)


def table_of(unit: Unit) -> Table:
    """The state machine of a unit of its kind."""
    if unit.array is not None:
        return arrays.ARRAY
    return TABLE if unit.slot is None else arrays.SLOT


def decide(unit: Unit, *, now: float) -> Decision[Effect]:
    """The verdict on one unit at `now` (Unix seconds)."""
    facts = facts_of(unit, now)
    for row in table_of(unit):  # the last row always holds
        if row.holds(facts):
            break
    moved = row.move(facts, now)
    decision = speak(facts, row.state, moved.also(*moves.steer(facts, row.state)), now)
    if not unit.components:
        return decision
    return msgspec.structs.replace(decision, effects=tuple(het.spread(decision.effects, unit.components)))
