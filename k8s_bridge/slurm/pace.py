"""How long Slurm is left alone between two polls. Pure."""

from __future__ import annotations

from enum import Enum


class Pace(Enum):
    """Whether units wait for what only Slurm can tell, merely run, or neither."""

    MOVING = "moving"
    RUNNING = "running"
    IDLE = "idle"


_MOVING, _RUNNING = 0.025, 1.0
"""Seconds between two polls in those paces; when idle it is the spec's pollInterval."""
_CALM = 10.0
"""While jobs merely run, Slurm is left alone so many times as long as its answer took."""
_STANDS = 0.02
"""The share of a wait by which its end may be seen late: what stands still for minutes can do so longer."""
_LATE = 0.1
"""The share of a run by which its end may be seen late: short jobs give their quota back at once."""


def pause(pace: Pace, *, took: float, ran: float, stood: float, interval: float) -> float:
    """Seconds until the next poll, at most `interval`.

    `took` is how long the last answer took, `ran` how long the job that started last has run, `stood` how
    long no unit has changed its state.
    """
    match pace:
        case Pace.MOVING:
            return min(max(_MOVING, _STANDS * stood), _RUNNING, interval)
        case Pace.RUNNING:
            soon, calm = max(_MOVING, _LATE * ran), max(_RUNNING, _CALM * took)
            return min(soon, calm, interval)
        case Pace.IDLE:
            return interval
