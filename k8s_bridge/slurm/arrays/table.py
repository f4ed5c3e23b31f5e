"""The state machines of a job array and of one of its slots."""

from __future__ import annotations

from k8s_bridge.slurm import moves
from k8s_bridge.slurm import predicates as job
from k8s_bridge.slurm.arrays import moves as do
from k8s_bridge.slurm.arrays import predicates as is_
from k8s_bridge.slurm.row import Row, Table
from k8s_bridge.slurm.unit import State

ARRAY: Table = (
    Row(State.UNKNOWN, job.unknown, moves.look_again),
    # it is over, or not for us
    Row(State.DONE, is_.array_done, moves.nothing),
    Row(State.GUARDED, job.guarded, moves.report_guard),
    Row(State.RETAINED, is_.array_retained, do.rest),
    Row(State.DRAINING, job.over, do.await_slots),
    Row(State.FOREIGN, is_.array_foreign, moves.let_go),
    # its tasks wait, or run on slots
    Row(State.HELD, is_.array_escaped, do.hold_tasks),
    Row(State.READY, is_.to_free, do.free_tasks),
    Row(State.TRESPASS, is_.array_astray, do.report_astray),
    Row(State.RUNNING, is_.array_runs, do.serve),
    Row(State.HELD_BY_OTHER, is_.array_held_by_other, do.respect_hold),
    Row(State.RELEASED, is_.array_released, do.serve),
    Row(State.REFUSED, job.refused, moves.refuse),
    Row(State.INELIGIBLE, job.ineligible, moves.await_eligibility),
    # there is no slot yet
    Row(State.TURN, is_.array_out_of_turn, moves.await_turn),
    Row(State.DENIED, is_.array_denied, do.report_denial),
    Row(State.HELD, is_.without_slot, do.ask_slot),
    # there are slots
    Row(State.QUEUED, is_.all_queued, do.await_quota),
    Row(State.ADMITTED, is_.some_admitted, do.await_nodes),
)

SLOT: Table = (
    Row(State.UNKNOWN, job.unknown, moves.look_again),
    Row(State.REPLACED, job.replaced, moves.give_back),
    Row(State.DONE, is_.slot_done, moves.nothing),
    Row(State.GUARDED, job.guarded, moves.report_guard),
    # its capacity is gone
    Row(State.EVICTED, is_.slot_evicted, do.clear_evicted),
    Row(State.LOST, is_.slot_lost, do.clear_lost),
    # there is no use for it
    Row(State.RETAINED, job.retained, moves.keep),
    Row(State.DRAINING, is_.unwanted, do.let_finish),
    Row(State.FAILED, is_.ended, moves.ask_anew),
    # it waits for quota, comes up, serves
    Row(State.PARKED, job.parked, moves.unpark_when_due),
    Row(State.QUEUED, job.queued, moves.await_quota),
    Row(State.RUNNING, is_.busy, do.follow),
    Row(State.READY, job.ready, do.await_task),
    Row(State.ADMITTED, job.admitted, moves.await_nodes),
)
