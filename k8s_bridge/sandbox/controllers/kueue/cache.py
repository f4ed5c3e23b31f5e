"""What Kueue remembers: queues, who holds quota, who waits. Fed with objects; reads no API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import is_deleted, key_of
from k8s_bridge.sandbox.controllers.kueue import messages
from k8s_bridge.sandbox.controllers.kueue.model import ClusterQueue, Flavor, StopPolicy, Workload
from k8s_bridge.sandbox.controllers.kueue.pending import Pending
from k8s_bridge.sandbox.controllers.kueue.preemption import Holder
from k8s_bridge.sandbox.controllers.kueue.quota import Ledger
from k8s_bridge.sandbox.controllers.kueue.topology import Topology
from k8s_bridge.sandbox.controllers.kueue.transitions import (
    ADMITTED,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    REQUEUED,
)
from k8s_bridge.sandbox.controllers.kueue.workload import parse, usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What an observation changed.

    `freed`: the ClusterQueue where quota came free, or may be taken now from somebody whose priority changed;
    `why`: not worth a try.
    """

    freed: str = ""
    queued: str = ""
    why: str = ""


@dataclass(slots=True)
class Cache:
    """The state of all queues. `waiting` and `users`: by LocalQueue, who waits, and who has it at all."""

    ledger: Ledger = field(default_factory=Ledger)
    holders: dict[str, dict[Key, Holder]] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)
    flavors: dict[str, Flavor] = field(default_factory=dict)
    topologies: dict[str, Topology] = field(default_factory=dict)
    checks: dict[str, Json] = field(default_factory=dict)
    local_queues: dict[Key, Json] = field(default_factory=dict)
    waiting: dict[Key, set[Key]] = field(default_factory=dict)
    users: dict[Key, set[Key]] = field(default_factory=dict)
    _held_in: dict[Key, str] = field(default_factory=dict)
    _waits_in: dict[Key, str] = field(default_factory=dict)
    _waits_for: dict[Key, Key] = field(default_factory=dict)
    _arrival: dict[str, int] = field(default_factory=dict)
    _arrivals: Iterator[int] = field(default_factory=count)
    _uses: dict[Key, Key] = field(default_factory=dict)

    def queue_of(self, local: Key) -> str:
        """The ClusterQueue that a LocalQueue points to; "" if there is no such LocalQueue."""
        found = self.local_queues.get(local)
        return found["spec"]["clusterQueue"] if found else ""

    def problem(self, local: Key) -> str:
        """Why nothing can be admitted through this LocalQueue; "" if something can."""
        found, name = self.local_queues.get(local), self.queue_of(local)
        if found is None:
            return messages.missing("LocalQueue", local[1])
        if stop_policy(found) is not StopPolicy.NONE:
            return messages.inactive("LocalQueue", local[1])
        if name not in self.ledger.queues:
            return messages.missing("ClusterQueue", name)
        return messages.inactive("ClusterQueue", name) if self.trouble(self.ledger.queues[name]) else ""

    def trouble(self, queue: ClusterQueue) -> tuple[str, str] | None:
        """Why a ClusterQueue is inactive, as (reason, message); None if it is active."""
        found: list[tuple[str, str]] = []
        if queue.stop is not StopPolicy.NONE:
            found.append(("Stopped", "is stopped"))
        used = dict.fromkeys(f for g in queue.groups for f in g.flavors)
        if lost := [f for f in used if f not in self.flavors]:
            found.append(("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(lost)}"))
        if lost := [c for c in queue.checks if c not in self.checks]:
            found.append(
                ("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(lost)}")
            )
        dull = [
            c for c in queue.checks if c in self.checks and not conditions.is_true(self.checks[c], "Active")
        ]
        if dull:
            found.append(
                ("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(dull)}")
            )
        if not found:
            return None
        return found[0][0], f"Can't admit new workloads: {', '.join(text for _, text in found)}."

    def put_queue(self, queue: ClusterQueue) -> None:
        """A ClusterQueue came or changed."""
        self.ledger.put(queue)
        self.holders.setdefault(queue.name, {})
        self.pending.setdefault(queue.name, Pending())

    def drop_queue(self, name: str) -> None:
        """A ClusterQueue went."""
        self.ledger.drop(name)
        for key in self.holders.pop(name, {}):
            self._held_in.pop(key, None)
        for key in self.pending.pop(name, Pending()).keys():  # noqa: SIM118 - Pending is no mapping
            self._waits_in.pop(key, None)

    def holder(self, key: Key) -> Holder | None:
        """The Workload as a holder of quota, if it is one."""
        return self.holders.get(self._held_in.get(key, ""), {}).get(key)

    def workload(self, obj: Json) -> Workload:
        """The model of a Workload object."""
        uid = obj["metadata"]["uid"]
        if uid not in self._arrival:
            self._arrival[uid] = next(self._arrivals)
        return parse(obj, arrival=self._arrival[uid])

    def observe(self, obj: Json) -> Moved:
        """Take in a Workload's newest version."""
        key = key_of(obj)
        self._note_user(key, obj)
        if holds_quota(obj):
            self._stop_waiting(key)
            old, new = self.holder(key), self._hold(key, obj)
            return Moved(freed=new.queue if old is not None and _eased(old, new) else "")
        freed = self._let_go(key)
        if not wants_quota(obj):
            self._stop_waiting(key)
            return Moved(freed=freed)
        return self._wait(key, obj, freed)

    def forget(self, obj: Json) -> Moved:
        """A Workload is gone."""
        key = key_of(obj)
        self._arrival.pop(obj["metadata"]["uid"], None)
        self.users.get(self._uses.pop(key, ("", "")), set()).discard(key)
        self._stop_waiting(key)
        return Moved(freed=self._let_go(key))

    def _note_user(self, key: Key, obj: Json) -> None:
        local = (key[0], obj["spec"].get("queueName", ""))
        if (old := self._uses.get(key)) != local:
            self.users.get(old or ("", ""), set()).discard(key)
            self.users.setdefault(local, set()).add(key)
            self._uses[key] = local

    def _hold(self, key: Key, obj: Json) -> Holder:
        queue = obj["status"]["admission"]["clusterQueue"]
        since = conditions.find(obj, QUOTA_RESERVED)
        assert since is not None
        old = self.holder(key)
        new = Holder(
            workload=self.workload(obj),
            queue=queue,
            usage=usage(obj),
            reserved=parse_stamp(since["lastTransitionTime"]).timestamp(),
            admitted=conditions.is_true(obj, ADMITTED),
            evicted=conditions.is_true(obj, EVICTED),
        )
        if old:
            self.ledger.remove(old.queue, old.usage)
        self._held_in[key] = queue
        self.holders.setdefault(queue, {})[key] = new
        self.ledger.add(queue, new.usage)
        return new

    def _let_go(self, key: Key) -> str:
        queue = self._held_in.pop(key, "")
        if queue:
            self.ledger.remove(queue, self.holders[queue].pop(key).usage)
        return queue

    def _wait(self, key: Key, obj: Json, freed: str) -> Moved:
        workload = self.workload(obj)
        queue = "" if self._local_stopped(workload.queue) else self.queue_of(workload.queue)
        if (
            self._waits_in.get(key, queue) != queue
            or self._waits_for.get(key, workload.queue) != workload.queue
        ):
            self._stop_waiting(key)
        self.waiting.setdefault(workload.queue, set()).add(key)
        self._waits_for[key] = workload.queue
        if queue not in self.pending:
            return Moved(freed=freed)
        self._waits_in[key] = queue
        return Moved(freed=freed, queued=queue, why=self.pending[queue].push(workload))

    def _local_stopped(self, local: Key) -> bool:
        found = self.local_queues.get(local)
        return found is not None and stop_policy(found) is not StopPolicy.NONE

    def _stop_waiting(self, key: Key) -> None:
        self.waiting.get(self._waits_for.pop(key, ("", "")), set()).discard(key)
        if queue := self._waits_in.pop(key, ""):
            self.pending[queue].remove(key)


def _eased(old: Holder, new: Holder) -> bool:
    """Whether others may have it easier now: with less in use, or by another priority."""
    less = any(amount < old.usage.get(key, 0) for key, amount in new.usage.items())
    return less or old.workload.priority != new.workload.priority


def stop_policy(obj: Json) -> StopPolicy:
    """The stopPolicy of a LocalQueue."""
    return StopPolicy((obj.get("spec") or {}).get("stopPolicy") or "None")


def holds_quota(obj: Json) -> bool:
    """Whether a Workload counts against its ClusterQueue."""
    admission = (obj.get("status") or {}).get("admission")
    return bool(admission) and not conditions.is_true(obj, FINISHED)


def wants_quota(obj: Json) -> bool:
    """Whether a Workload without quota is to be queued."""
    if is_deleted(obj) or conditions.is_true(obj, FINISHED) or conditions.is_false(obj, REQUEUED):
        return False
    return bool(obj["spec"].get("active", True))
