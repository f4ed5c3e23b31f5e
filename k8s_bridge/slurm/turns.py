"""Who may be asked for next: at most so many JobSets per queue wait for quota at a time.

20,000 held jobs must not become 20,000 objects. Order is Kueue's priority, then Slurm's nice, then
submission, then job id. Pure bookkeeping: told of every unit's place, answers whether a unit is among the
next.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from k8s_bridge.slurm.unit import Key

Rank = tuple[int, ...]
"""(-priority, nice, submit time, job id): smaller goes first, and the job id is last."""


@dataclass(slots=True)
class _Queue:
    limit: int = 1
    waiting: list[Rank] = field(default_factory=list)
    in_flight: set[Key] = field(default_factory=set)

    @property
    def free(self) -> int:
        return max(0, self.limit - len(self.in_flight))


class Turns:
    """The order of asking, per queue. A job waits; a job or a slot of an array flies."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        self._places: dict[Key, tuple[str, Rank | None]] = {}
        self._moved_up = False

    def limit(self, queue: str, limit: int) -> None:
        """Set how many of `queue` may be in flight."""
        self._queues.setdefault(queue, _Queue()).limit = limit
        self._moved_up = True

    def wait(self, key: int, *, queue: str, rank: Rank) -> None:
        """The job waits to be asked for."""
        if self._places.get(key) == (queue, rank):
            return
        self.leave(key)
        insort(self._queues.setdefault(queue, _Queue()).waiting, rank)
        self._places[key] = (queue, rank)

    def fly(self, key: Key, *, queue: str) -> None:
        """The job's JobSet waits for quota."""
        if self._places.get(key) == (queue, None):
            return
        self.leave(key)
        self._queues.setdefault(queue, _Queue()).in_flight.add(key)
        self._places[key] = (queue, None)

    def leave(self, key: Key) -> None:
        """The job neither waits to be asked for nor for quota."""
        place = self._places.pop(key, None)
        if place is None:
            return
        self._moved_up = True
        queue, rank = self._queues[place[0]], place[1]
        if rank is None:
            queue.in_flight.discard(key)
        else:
            del queue.waiting[bisect_left(queue.waiting, rank)]

    def may(self, key: Key) -> bool:
        """Whether the job is among the next of its queue (or in flight already)."""
        place = self._places.get(key)
        if place is None:
            return False
        queue, rank = self._queues[place[0]], place[1]
        return rank is None or bisect_left(queue.waiting, rank) < queue.free

    def next(self) -> Iterator[int]:
        """All jobs whose turn it is now."""
        for queue in self._queues.values():
            for rank in islice(queue.waiting, queue.free):
                yield rank[-1]

    def called(self) -> Iterator[int]:
        """All jobs whose turn it is now, if somebody made room since the last call."""
        moved_up, self._moved_up = self._moved_up, False
        return self.next() if moved_up else iter(())
