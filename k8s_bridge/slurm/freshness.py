"""Which units nothing may be decided of until Slurm is looked at again: we changed them, or they are lost.

A poll settles that only if it began later. Times are monotonic seconds.
"""

from __future__ import annotations

from collections.abc import Collection

from k8s_bridge.slurm.unit import Key, job_of


class Freshness:
    """Pure bookkeeping."""

    def __init__(self) -> None:
        self._wrote: dict[Key, float] = {}
        self._postponed: set[Key] = set()
        self._lost: dict[int, float] = {}

    @property
    def written(self) -> Collection[Key]:
        """The units that were changed in Slurm since the last poll began."""
        return self._wrote.keys()

    def wrote(self, key: Key, at: float) -> None:
        """The unit was changed in Slurm, or a change was tried."""
        self._wrote[key] = at

    def lost(self, job_id: int, at: float) -> None:
        """Slurm does not know the job any more, although it was not over."""
        self._lost[job_id] = at

    def allows(self, key: Key) -> bool:
        """Whether the unit may be decided on now; one that may not is told by `polled` when it may."""
        if key in self._wrote:
            self._postponed.add(key)
            return False
        return job_of(key) not in self._lost

    def found(self, started: float) -> list[int]:
        """The lost jobs that a poll has settled which began at `started`."""
        settled = [job_id for job_id, at in self._lost.items() if at < started]
        for job_id in settled:
            del self._lost[job_id]
        return settled

    def polled(self, started: float) -> list[Key]:
        """The units that were postponed, and need not be since a poll that began at `started`."""
        settled = [key for key, at in self._wrote.items() if at < started]
        for key in settled:
            del self._wrote[key]
        again = [key for key in settled if key in self._postponed]
        self._postponed.difference_update(again)
        return again
