"""Scenario `decide_ray`: what one decision about an inner RayJob costs, in CPU time of this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import process_time

from bench import ray_units as make
from bench.report import Result
from k8s_bridge.ray.decide import decide
from k8s_bridge.ray.unit import State, Unit

_BATCH = 2_000
_BATCHES = 7


def run() -> Result:
    """Microseconds per unit, the best of several batches; AssertionError when a unit is not in its state."""
    measured = {f"decide_ray.{state}_us": _microseconds(unit) for state, unit in _checked().items()}
    return Result(scenario="decide_ray", measured=measured | {"decide_ray.worst_us": max(measured.values())})


def _units() -> Mapping[State, Unit]:
    """Jobs that nothing is to be done about but to wait, and those that everything has come together for."""
    over = make.job(status={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"})
    return {
        State.HELD: make.unit(seen=make.seen(State.HELD, seconds=1)),
        State.QUEUED: make.waiting(
            job=_told(State.QUEUED, "Pending"), seen=make.seen(State.QUEUED, seconds=9)
        ),
        State.ADMITTED: make.admitted(
            job=_told(State.ADMITTED, "Joining"), workers=(), seen=make.seen(State.ADMITTED, seconds=9)
        ),
        State.READY: make.admitted(seen=make.seen(State.READY, seconds=1)),
        State.RUNNING: make.let_go(
            notes=_notes(State.RUNNING, "Running"),
            status={"jobStatus": "RUNNING"},
            seen=make.seen(State.RUNNING, seconds=9),
        ),
        State.DONE: make.unit(job=over, seen=make.seen(State.DONE, seconds=9)),
    }


def _notes(state: State, reason: str) -> dict[str, str]:
    return {"state": state.value, "message": f"{reason}: told before"}


def _told(state: State, reason: str) -> make.RayJob:
    return make.job(notes=_notes(state, reason))


def _checked() -> Mapping[State, Unit]:
    found = _units()
    for state, unit in found.items():
        assert decide(unit, now=make.NOW).state == state, f"{state} is {decide(unit, now=make.NOW).state}"
    return found


def _microseconds(unit: Unit) -> float:
    return min(_batch(unit) for _ in range(_BATCHES)) * 1e6 / _BATCH


def _batch(unit: Unit) -> float:
    """Seconds. Each unit is an object of its own: nothing is found in a cache of facts."""
    batch = [replace(unit) for _ in range(_BATCH)]
    began = process_time()
    for each in batch:
        decide(each, now=make.NOW)
    return process_time() - began
