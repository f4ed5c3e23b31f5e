"""The Workloads that wait in one ClusterQueue, in the order in which they are to be tried. Pure.

Equal Workloads (same shape and priority) wait in one class. When the first of a class does not fit, the whole
class is set aside until quota comes free, so 20,000 equal Workloads cost one attempt, not 20,000.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.kueue.model import Workload

Order = tuple[int, float, Key]
_Class = tuple[int, object]


def order(workload: Workload) -> Order:
    """Higher priority first, then who came first."""
    return (-workload.priority, workload.since, workload.key)


@dataclass(slots=True)
class _Bucket:
    heap: list[Order] = field(default_factory=list)
    why: str = ""  # why the class is set aside; "" while it may be tried
    untold: set[Key] = field(default_factory=set)  # who never heard why it does not fit


class Pending:
    """The queue of one ClusterQueue."""

    def __init__(self) -> None:
        self._members: dict[Key, tuple[Workload, _Class]] = {}
        self._buckets: dict[_Class, _Bucket] = {}
        self._heads: list[tuple[Order, int, _Class]] = []
        self._offers = 0
        self._holding: Order | None = None

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, key: Key) -> bool:
        return key in self._members

    def keys(self) -> list[Key]:
        """Who waits, in no particular order."""
        return list(self._members)

    def push(self, workload: Workload) -> str:
        """Add or replace a Workload. Answers why its class is set aside; "": it will be tried."""
        known = self._members.get(workload.key)
        if known and known[0] == workload:
            return self._buckets[known[1]].why
        self.remove(workload.key)
        class_: _Class = (workload.priority, workload.shape)
        self._members[workload.key] = (workload, class_)
        bucket = self._buckets.setdefault(class_, _Bucket())
        heappush(bucket.heap, order(workload))
        if not bucket.why:
            bucket.untold.add(workload.key)
            self._offer(class_)
        return bucket.why

    def remove(self, key: Key) -> None:
        """Forget a Workload; the heaps drop it when they come to it."""
        found = self._members.pop(key, None)
        if found and self._holding == order(found[0]):
            self._holding = None

    def head(self) -> Workload | None:
        """Whom to try next; None if nobody can be tried or the first waits for its victims."""
        while self._heads:
            first, _, class_ = self._heads[0]
            bucket = self._buckets[class_]
            self._prune(class_, bucket)
            if not bucket.why and bucket.heap and bucket.heap[0] == first:
                held = self._holding is not None and self._holding <= first
                return None if held else self._members[first[2]][0]
            heappop(self._heads)
            if not bucket.why:
                self._offer(class_)
        return None

    def set_aside(self, workload: Workload, why: str) -> list[Key]:
        """Do not try this Workload and its equals until `retry`. Answers whom to tell why."""
        bucket = self._buckets[self._members[workload.key][1]]
        bucket.why = why
        told = bucket.untold | {workload.key}
        bucket.untold = set()
        return sorted(told & self._members.keys())

    def hold(self, workload: Workload) -> None:
        """Keep this Workload and everybody behind it until `release`: its victims are being stopped."""
        self._holding = order(workload)

    def release(self) -> None:
        """Try the held Workload again."""
        self._holding = None

    def retry(self) -> None:
        """Quota came free: try everybody again."""
        self._holding = None
        for class_, bucket in self._buckets.items():
            if bucket.why:
                bucket.why = ""
                self._prune(class_, bucket)
                self._offer(class_)

    def _offer(self, class_: _Class) -> None:
        bucket = self._buckets[class_]
        if bucket.heap:
            self._offers += 1
            heappush(self._heads, (bucket.heap[0], self._offers, class_))

    def _prune(self, class_: _Class, bucket: _Bucket) -> None:
        while bucket.heap and not self._is_current(bucket.heap[0], class_):
            heappop(bucket.heap)

    def _is_current(self, entry: Order, class_: _Class) -> bool:
        found = self._members.get(entry[2])
        return found is not None and found[1] == class_ and order(found[0]) == entry
