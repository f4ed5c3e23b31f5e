"""Scenario `decide`: what one decision costs in each main state, in CPU time of this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import process_time

from bench.report import Result
from bench.units import NOW, units
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.unit import State, Unit

_BATCH = 2_000
_BATCHES = 7


def run() -> Result:
    """Microseconds per unit, the best of several batches; AssertionError when a unit is not in its state."""
    measured = {f"decide.{state}_us": _microseconds(unit) for state, unit in _checked().items()}
    return Result(scenario="decide", measured=measured | {"decide.worst_us": max(measured.values())})


def _checked() -> Mapping[State, Unit]:
    found = units()
    for state, unit in found.items():
        assert decide(unit, now=NOW).state == state, f"{state} is {decide(unit, now=NOW).state}"
    return found


def _microseconds(unit: Unit) -> float:
    return min(_batch(unit) for _ in range(_BATCHES)) * 1e6 / _BATCH


def _batch(unit: Unit) -> float:
    """Seconds. Each unit is an object of its own: nothing is found in a cache of facts."""
    batch = [replace(unit) for _ in range(_BATCH)]
    began = process_time()
    for each in batch:
        decide(each, now=NOW)
    return process_time() - began
