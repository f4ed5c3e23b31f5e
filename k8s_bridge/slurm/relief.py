"""When a job that a limit of Slurm keeps from starting is tried again, before its pause is over.

What a limit leaves room for shows only after a release, so to try costs capacity: of the jobs that a limit
keeps back one is tried when a job ends that it counted, and the first one every minute, as limits are changed
too. When that one starts, so does the next. Pure bookkeeping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from k8s_bridge.kube.store import Delta
from k8s_bridge.slurm.eligibility import Limit, limits_on
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.tables import Tables
from k8s_bridge.slurm.unit import Key, Retry, job_of


class Relief:
    """The units that limits keep back."""

    def __init__(self) -> None:
        self._kept: dict[Key, Limit] = {}
        self._due: set[Key] = set()
        self._tried: dict[int, Limit] = {}

    def keep(self, key: Key, limit: Limit | None) -> None:
        """The unit gave its quota back; because of that limit, if it is one."""
        self._tried.pop(job_of(key), None)
        if limit is not None:
            self._kept[key] = limit

    def leave(self, key: Key) -> None:
        """The unit is tried again, or over."""
        limit = self._kept.pop(key, None)
        if limit is not None and key not in self._due:
            self._tried[job_of(key)] = limit
        self._due.discard(key)

    def forget(self, key: Key) -> None:
        """Nothing of the unit is left."""
        self.leave(key)
        self._tried.pop(job_of(key), None)

    def retry(self, key: Key) -> Retry:
        """When a unit that gave its quota back is to be tried again."""
        if key in self._due:
            return Retry.NOW
        limit = self._kept.get(key)
        return Retry.SOON if limit is not None and key == self._first(limit) else Retry.LATER

    def changed(self, delta: Delta[Job]) -> Iterator[Key]:
        """The units that the start or the end of a job lets go on."""
        was, active = (row is not None and row.active for row in (delta.old, delta.new))
        if was and not active and delta.old is not None and self._kept:
            yield from tuple(self._relieved(delta.old))
        elif active and not was and delta.new is not None:
            limit = self._tried.pop(delta.new.unit_id, None)
            first = self._first(limit) if limit is not None else None
            if first is not None:
                yield first

    def _relieved(self, job: Job) -> Iterator[Key]:
        for limit in limits_on(job):
            first = self._first(limit)
            if first is not None:
                self._due.add(first)
                yield first

    def _first(self, limit: Limit) -> Key | None:
        alike = (key for key, other in self._kept.items() if other == limit and key not in self._due)
        return min(alike, key=_age, default=None)


def subscribe(tables: Tables, relief: Relief, touched: Callable[[Key], None]) -> None:
    """Call `touched` with each unit that a change of a job lets go on."""

    def changed(delta: Delta[Job]) -> None:
        for key in relief.changed(delta):
            touched(key)

    tables.jobs.subscribe(changed)


def _age(key: Key) -> tuple[int, int]:
    return job_of(key), 0 if isinstance(key, int) else key.number
