"""What keeps Slurm from starting a job, whatever capacity it has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Grip(Enum):
    """How an obstacle acts on capacity that was asked for already.

    FIRM: it is given back. LOOSE: what comes and goes by the minute, such as free licenses, keeps from
    asking only: giving back each time would cost the job its place in Kueue's queue.
    """

    FIRM = auto()
    LOOSE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """The word and the sentence for people, and when it passes by itself (Unix seconds), if that is known."""

    reason: str
    text: str
    until: float | None = None
    grip: Grip = Grip.FIRM
