"""The scheduling cycle: the heads of all ClusterQueues are looked at together, then served one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import WORKLOADS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import Api
from k8s_bridge.sandbox.controllers.engine import Engine
from k8s_bridge.sandbox.controllers.kueue import messages, transitions
from k8s_bridge.sandbox.controllers.kueue.assign import Assignment, Inventory, Mode, assign
from k8s_bridge.sandbox.controllers.kueue.cache import Cache
from k8s_bridge.sandbox.controllers.kueue.model import Flavor, Strategy, Workload
from k8s_bridge.sandbox.controllers.kueue.preemption import Victim, victims
from k8s_bridge.sandbox.controllers.kueue.topology import FreeNode
from k8s_bridge.sandbox.controllers.kueue.workload import admission, resource_requests

SOURCE = "kueue-admission"
ALL_QUEUES: Key = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A head and what it would get."""

    workload: Workload
    queue: str
    assignment: Assignment
    borrows: bool


class Cycle:
    """Admits, preempts or sets aside. Its only key is ALL_QUEUES."""

    name = "kueue-scheduler"

    def __init__(
        self, api: Api, engine: Engine, cache: Cache, nodes: Callable[[Flavor], Sequence[FreeNode]]
    ) -> None:
        self._api = api
        self._engine = engine
        self._cache = cache
        self._nodes = nodes

    def reconcile(self, key: Key) -> float | None:
        """One cycle; another follows as long as there are heads."""
        entries = sorted(
            self._heads(), key=lambda e: (e.borrows, -e.workload.priority, e.workload.since, e.workload.key)
        )
        targets: set[Key] = set()
        for entry in entries:
            self._serve(entry, targets)
        if entries:
            self._engine.add(self, key)
        return None

    def _heads(self) -> list[_Entry]:
        ledger = self._cache.ledger
        inventory = Inventory(
            flavors=self._cache.flavors, topologies=self._cache.topologies, nodes=self._nodes
        )
        entries: list[_Entry] = []
        for name, queue in ledger.queues.items():
            head = self._cache.pending[name].head()
            if head is None or self._cache.trouble(queue):
                continue
            assignment = assign(ledger, queue, head, inventory)
            borrows = ledger.would_borrow(name, assignment.usage)
            entries.append(_Entry(workload=head, queue=name, assignment=assignment, borrows=borrows))
        return entries

    def _serve(self, entry: _Entry, targets: set[Key]) -> None:
        match entry.assignment.mode:
            case Mode.FIT if self._cache.ledger.fits(entry.queue, entry.assignment.usage):
                self._reserve(entry)
            case Mode.FIT:
                self._tell(entry.workload.key, messages.OUTRUN)
            case Mode.PREEMPT:
                self._preempt(entry, targets)
            case Mode.NO_FIT:
                self._set_aside(entry, entry.assignment.message)

    def _reserve(self, entry: _Entry) -> None:
        obj = self._object(entry.workload.key)
        queue = self._cache.ledger.queues[entry.queue]
        granted = admission(entry.queue, entry.assignment)
        status = transitions.reserve(obj, granted, now=self._api.stamp, checks=queue.checks)
        obj = self._api.set_status(WORKLOADS, obj, status)
        waited = max(0, round(self._api.now - entry.workload.since))
        text = f"Quota reserved in ClusterQueue {entry.queue}, wait time since queued was {waited}s"
        if entry.borrows:
            text += f"; Flavors considered: {_considered(entry.assignment)}"
        self._api.event(obj, "QuotaReserved", text, source=SOURCE)
        if conditions.is_true(obj, transitions.ADMITTED):
            text = f"Admitted by ClusterQueue {entry.queue}, wait time since reservation was 0s"
            self._api.event(obj, "Admitted", text, source=SOURCE)

    def _preempt(self, entry: _Entry, targets: set[Key]) -> None:
        found = victims(
            self._cache.ledger, entry.workload, entry.assignment, self._cache.holders, at=entry.queue
        )
        if not found:
            self._set_aside(entry, entry.assignment.message)
            return
        keys = {v.holder.workload.key for v in found}
        if keys & targets:
            self._set_aside(entry, messages.OVERLAPPING)
            return
        targets |= keys
        self._cache.pending[entry.queue].hold(entry.workload)
        for victim in found:
            if not victim.holder.evicted:
                self._stop(victim, entry)
        self._tell(entry.workload.key, messages.pending_preemption(entry.assignment.message, len(found)))

    def _stop(self, victim: Victim, entry: _Entry) -> None:
        holder, queues = victim.holder, self._cache.ledger.queues
        text = messages.preempted(
            by=entry.workload,
            reason=victim.reason,
            at=queues[entry.queue],
            victim=queues[holder.queue],
        )
        obj = self._object(holder.workload.key)
        status = transitions.preempt(obj, reason=victim.reason, message=text, now=self._api.stamp)
        obj = self._api.set_status(WORKLOADS, obj, status)
        tail = messages.priorities(preemptor=entry.workload.priority, preemptee=holder.workload.priority)
        self._api.event(obj, "EvictedDueToPreempted", text, source=SOURCE)
        self._api.event(obj, "Preempted", f"{text}; {tail}", source=SOURCE)
        who = f"{'/'.join(holder.workload.key)} (UID: {holder.workload.uid})"
        did = f"Preempted workload {who} in ClusterQueue {holder.queue}"
        preemptor = self._object(entry.workload.key)
        self._api.event(preemptor, "PreemptedWorkload", f"{did}; {tail}", source=SOURCE)

    def _set_aside(self, entry: _Entry, why: str) -> None:
        pending = self._cache.pending[entry.queue]
        if self._cache.ledger.queues[entry.queue].strategy is Strategy.STRICT:
            pending.hold(entry.workload)
            self._tell(entry.workload.key, why)
            return
        for key in pending.set_aside(entry.workload, why):
            self._tell(key, why)

    def _tell(self, key: Key, why: str) -> None:
        tell_waiting(self._api, self._cache, self._object(key), why)

    def _object(self, key: Key) -> Json:
        return self._api.storage.get(WORKLOADS, *key)


def tell_waiting(api: Api, cache: Cache, obj: Json, why: str) -> None:
    """Write why a Workload does not get quota, and an event if that is news."""
    requests = resource_requests(cache.workload(obj))
    status = transitions.wait(obj, reason="Pending", message=why, now=api.stamp, requests=requests)
    if status != obj.get("status"):
        obj = api.set_status(WORKLOADS, obj, status)
        api.event(obj, "Pending", why, source=SOURCE, warning=True)


def _considered(assignment: Assignment) -> str:
    """The flavors of a borrowing assignment, as the event prints them."""
    parts = [
        f"{p.name}: {', '.join(sorted(set(p.flavors.values())))}(Fit;borrow=1)" for p in assignment.pod_sets
    ]
    return "; ".join(parts)
