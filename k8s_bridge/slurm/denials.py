"""JobSets that were refused, and when the next attempt to create one is due."""

from __future__ import annotations

from k8s_bridge.slurm.unit import Denial

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds between two attempts: first pause, doubled up to the longest.

Short at first: an API server that has just started forbids everything until it has read the roles.
"""
_DOUBLINGS = 10


class Denials:
    """The last refusal of each job."""

    def __init__(self) -> None:
        self._of: dict[int, Denial] = {}

    def of(self, job_id: int) -> Denial | None:
        """The refusal that holds."""
        return self._of.get(job_id)

    def add(self, job_id: int, reason: str, text: str, *, now: float) -> None:
        """Refused once more, for a reason that hardly ever passes by itself."""
        before = self._of.get(job_id)
        attempts = before.attempts + 1 if before else 1
        pause = min(FIRST_PAUSE * 2 ** min(attempts - 1, _DOUBLINGS), LONGEST_PAUSE)
        self._of[job_id] = Denial(reason=reason, text=text, until=now + pause, attempts=attempts)

    def forget(self, job_id: int) -> None:
        """Created, or no longer wanted."""
        self._of.pop(job_id, None)
