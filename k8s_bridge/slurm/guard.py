"""The mass-action guard: when Slurm suddenly knows none of many of our jobs, nothing is deleted at once."""

from __future__ import annotations

from k8s_bridge.slurm.unit import Deletion

SHARE = 0.5
LEAST = 3
PATIENCE = 600.0
"""Seconds of steady, fresh answers after which even many missing jobs are believed to be gone."""


class Guard:
    """Judges by the numbers of one moment and by how long they have been so. `now` in Unix seconds."""

    def __init__(self) -> None:
        self._suspicious_since: float | None = None

    def judge(self, *, gone: int, owned: int, now: float) -> Deletion:
        """`gone` of our `owned` jobs (those with a JobSet) are unknown to Slurm now."""
        if gone < LEAST or gone <= owned * SHARE:
            self._suspicious_since = None
            return Deletion.ALLOWED
        if self._suspicious_since is None:
            self._suspicious_since = now
        return Deletion.ALLOWED if now - self._suspicious_since >= PATIENCE else Deletion.REFUSED
