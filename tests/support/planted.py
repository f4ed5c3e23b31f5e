"""What is planted for a doctor to find, whichever side it is of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from k8s_bridge.runtime.doctor.verdict import Verdict

Patient = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """`text` stands in what was seen, `cure` in the cure."""

    name: str
    plant: Callable[[Patient], object]
    """May be a coroutine function."""
    check: str
    text: str
    cure: str
    verdict: Verdict = Verdict.WRONG
