"""Who may be asked for next: at most so many JobSets per queue wait for quota at a time.

20,000 held jobs must not become 20,000 objects. Order is Kueue's priority, then Slurm's nice, then
submission, then job id. Pure bookkeeping: told of every unit's place, answers whether a unit is among the
next.

Those that gave their quota back for a while take no place from others: what keeps them (a limit of their
owner, an image that cannot be pulled) is nothing that others wait for. But jobs that are like one of them
would most likely join them. So these go after all others, and only while all that have a JobSet and no quota
are fewer than the limit.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from k8s_bridge.slurm.unit import Key

Rank = tuple[int, ...]
"""(-priority, nice, submit time, job id): smaller goes first, and the job id is last."""


@dataclass(slots=True)
class _Queue:
    limit: int = 1
    waiting: list[Rank] = field(default_factory=list)
    """Each rank after whether it goes after all others."""
    in_flight: set[Key] = field(default_factory=set)
    parked: dict[Hashable, set[Key]] = field(default_factory=dict)
    """By kind."""

    def free(self, rank: Rank) -> int:
        """How many may be asked for now, as far as one of that rank is concerned."""
        parked = sum(map(len, self.parked.values())) if rank[0] else 0
        return max(0, self.limit - len(self.in_flight) - parked)

    def next(self) -> Iterator[Rank]:
        for number, rank in enumerate(islice(self.waiting, self.limit)):
            if number >= self.free(rank):
                return
            yield rank


@dataclass(frozen=True, slots=True)
class _Place:
    queue: str
    kind: Hashable = None
    rank: Rank = ()
    """Empty for those that do not wait to be asked for."""


class Turns:
    """The order of asking, per queue. A job waits; a job or a slot of an array flies or is parked."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        self._places: dict[Key, _Place] = {}
        self._moved_up = False

    def limit(self, queue: str, limit: int) -> None:
        """Set how many of `queue` may be in flight."""
        self._queue(queue).limit = limit
        self._moved_up = True

    def wait(self, key: int, *, queue: str, rank: Rank, kind: Hashable = None) -> None:
        """The job waits to be asked for. Of one `kind` are jobs that the same thing keeps from starting."""
        found = self._queue(queue)
        if self._places.get(key) == _Place(queue, kind, (kind in found.parked, *rank)):
            return
        self.leave(key)  # it may have been the only one of its kind that was parked
        place = self._places[key] = _Place(queue, kind, (kind in found.parked, *rank))
        insort(found.waiting, place.rank)

    def fly(self, key: Key, *, queue: str) -> None:
        """The job's JobSet waits for quota."""
        if key in self._queue(queue).in_flight:
            return
        self.leave(key)
        self._queue(queue).in_flight.add(key)
        self._places[key] = _Place(queue)

    def park(self, key: Key, *, queue: str, kind: Hashable = None) -> None:
        """The job has a JobSet that gave its quota back for a while."""
        found = self._queue(queue)
        if key in found.parked.get(kind, ()):
            return
        self.leave(key)
        self._places[key] = _Place(queue, kind)
        if kind in found.parked:
            found.parked[kind].add(key)
        else:
            found.parked[kind] = {key}
            self._rank_anew(queue, kind)

    def leave(self, key: Key) -> None:
        """The job neither waits to be asked for nor for quota."""
        place = self._places.pop(key, None)
        if place is None:
            return
        self._moved_up = True
        queue = self._queues[place.queue]
        if place.rank:
            del queue.waiting[bisect_left(queue.waiting, place.rank)]
        elif key in queue.in_flight:
            queue.in_flight.remove(key)
        else:
            self._unpark(key, place)

    def may(self, key: Key) -> bool:
        """Whether the job is among the next of its queue (or has a JobSet already)."""
        place = self._places.get(key)
        if place is None:
            return False
        queue = self._queues[place.queue]
        return not place.rank or bisect_left(queue.waiting, place.rank) < queue.free(place.rank)

    def next(self) -> Iterator[int]:
        """All jobs whose turn it is now."""
        for queue in self._queues.values():
            for rank in queue.next():
                yield rank[-1]

    def called(self) -> Iterator[int]:
        """All jobs whose turn it is now, if somebody made room since the last call."""
        moved_up, self._moved_up = self._moved_up, False
        return self.next() if moved_up else iter(())

    def _queue(self, queue: str) -> _Queue:
        return self._queues.setdefault(queue, _Queue())

    def _unpark(self, key: Key, place: _Place) -> None:
        parked = self._queues[place.queue].parked
        parked[place.kind].remove(key)
        if not parked[place.kind]:
            del parked[place.kind]
            self._rank_anew(place.queue, place.kind)

    def _rank_anew(self, queue: str, kind: Hashable) -> None:
        """The first of a kind was parked, or the last one left."""
        alike = (p for p in self._places.values() if p.rank and p.queue == queue and p.kind == kind)
        for place in tuple(alike):
            self.wait(place.rank[-1], queue=queue, rank=place.rank[1:], kind=kind)
