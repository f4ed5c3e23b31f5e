"""Who uses how much of which quota, and what is left. Arithmetic only; no API, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from k8s_bridge.sandbox.controllers.kueue.model import ClusterQueue, FlavorResource, Quota, Usage

_NOTHING = Quota(nominal=0)


class Ledger:
    """The ClusterQueues, their cohorts, and the usage of each."""

    def __init__(self) -> None:
        self.queues: dict[str, ClusterQueue] = {}
        self._usage: dict[str, Counter[FlavorResource]] = {}
        self._cohorts: dict[str, set[str]] = {}

    def put(self, queue: ClusterQueue) -> None:
        """Add a ClusterQueue or its new spec; usage stays."""
        self._leave_cohort(queue.name)
        self.queues[queue.name] = queue
        self._usage.setdefault(queue.name, Counter())
        if queue.cohort:
            self._cohorts.setdefault(queue.cohort, set()).add(queue.name)

    def drop(self, name: str) -> None:
        """Forget a ClusterQueue and its usage."""
        self._leave_cohort(name)
        self.queues.pop(name, None)
        self._usage.pop(name, None)

    def _leave_cohort(self, name: str) -> None:
        old = self.queues.get(name)
        if old and old.cohort:
            self._cohorts[old.cohort].discard(name)

    def family(self, name: str) -> frozenset[str]:
        """The queue itself and all that share its cohort: whoever may profit when it frees quota."""
        queue = self.queues.get(name)
        if queue is None or not queue.cohort:
            return frozenset((name,))
        return frozenset(self._cohorts[queue.cohort])

    def add(self, name: str, usage: Usage) -> None:
        """Take quota. Nothing is checked: a running Workload counts even where the quota was lowered."""
        if name in self._usage:
            self._usage[name].update(usage)

    def remove(self, name: str, usage: Usage) -> None:
        """Give quota back."""
        if name in self._usage:
            self._usage[name].subtract(usage)

    @contextmanager
    def without(self, name: str, usage: Usage) -> Iterator[None]:
        """The ledger as if `usage` were given back, for the length of a block."""
        self.remove(name, usage)
        try:
            yield
        finally:
            self.add(name, usage)

    def used(self, name: str, fr: FlavorResource) -> int:
        """What the queue's Workloads have taken."""
        return self._usage[name][fr]

    def quota(self, name: str, fr: FlavorResource) -> Quota:
        """The queue's quota; zero where it names none."""
        return self.queues[name].quotas.get(fr, _NOTHING)

    def borrowed(self, name: str, fr: FlavorResource) -> int:
        """How far the queue is above its nominal quota."""
        return max(0, self.used(name, fr) - self.quota(name, fr).nominal)

    def would_borrow(self, name: str, usage: Usage) -> bool:
        """Whether taking `usage` puts the queue above nominal anywhere."""
        return any(self.used(name, fr) + n > self.quota(name, fr).nominal for fr, n in usage.items())

    def available(self, name: str, fr: FlavorResource) -> int:
        """What the queue can still take, borrowing included; negative when it holds too much."""
        quota, used = self.quota(name, fr), self.used(name, fr)
        if not self.queues[name].cohort:
            return quota.nominal - used
        guaranteed = _guaranteed(quota)
        shared = self._shared(name, fr)
        if quota.borrowing is not None:
            lent = quota.nominal - guaranteed
            shared = min(shared, lent - max(0, used - guaranteed) + quota.borrowing)
        return max(0, guaranteed - used) + shared

    def potential(self, name: str, fr: FlavorResource) -> int:
        """What the queue could have if nobody else used anything."""
        quota = self.quota(name, fr)
        if not self.queues[name].cohort:
            return quota.nominal
        guaranteed = _guaranteed(quota)
        members = self.family(name)
        pool = sum(self.quota(m, fr).nominal - _guaranteed(self.quota(m, fr)) for m in members)
        if quota.borrowing is not None:
            pool = min(pool, quota.nominal - guaranteed + quota.borrowing)
        return guaranteed + pool

    def fits(self, name: str, usage: Usage) -> bool:
        """Whether the queue can take all of `usage` now."""
        return all(n <= self.available(name, fr) for fr, n in usage.items() if n)

    def _shared(self, name: str, fr: FlavorResource) -> int:
        total = 0
        for member in self.family(name):
            quota = self.quota(member, fr)
            guaranteed = _guaranteed(quota)
            total += quota.nominal - guaranteed - max(0, self.used(member, fr) - guaranteed)
        return total


def _guaranteed(quota: Quota) -> int:
    """The part of the nominal quota that is never lent."""
    return 0 if quota.lending is None else max(0, quota.nominal - quota.lending)


def by_flavor(usage: Usage) -> Mapping[str, dict[str, int]]:
    """Usage as flavor → resource → amount."""
    flavors: dict[str, dict[str, int]] = {}
    for (flavor, resource), amount in usage.items():
        flavors.setdefault(flavor, {})[resource] = amount
    return flavors
