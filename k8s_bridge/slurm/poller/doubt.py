"""Mass disappearance: most jobs at once are missing from Slurm's answer. Doubt it first, then look closer."""

from __future__ import annotations

from collections.abc import Callable

PATIENCE = 60.0
"""Seconds that it must last before it is looked into, job by job."""


class Doubt:
    """`clock` gives monotonic seconds; `report` is told how many jobs are missing, once for each time."""

    def __init__(self, *, clock: Callable[[], float], report: Callable[[int], None]) -> None:
        self._clock = clock
        self._report = report
        self._since: float | None = None

    def believes(self, suspicious: bool, *, lost: int) -> bool:  # noqa: FBT001 - a fact, not a mode
        """Whether the missing jobs may be asked about now."""
        if not suspicious:
            self._since = None
            return True
        if self._since is None:
            self._since = self._clock()
            self._report(lost)
        return self._clock() - self._since >= PATIENCE
