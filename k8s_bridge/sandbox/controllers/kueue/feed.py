"""How changes in the API reach the cache, and what each of them sets going."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import (
    ADMISSIONCHECKS,
    CLUSTERQUEUES,
    LOCALQUEUES,
    RESOURCEFLAVORS,
    TOPOLOGIES,
    WORKLOADS,
    Kind,
)
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers.api import is_deleted, key_of
from k8s_bridge.sandbox.controllers.engine import Engine, Reconciler
from k8s_bridge.sandbox.controllers.kueue.cache import Cache, Moved
from k8s_bridge.sandbox.controllers.kueue.cycle import ALL_QUEUES
from k8s_bridge.sandbox.controllers.kueue.model import cluster_queue, flavor
from k8s_bridge.sandbox.controllers.kueue.topology import Topology
from k8s_bridge.sandbox.controllers.timing import Timing


class Retry:
    """Tries all inadmissible Workloads of one ClusterQueue again; its keys are ("", ClusterQueue)."""

    name = "kueue-retry"

    def __init__(self, engine: Engine, cache: Cache, cycle: Reconciler) -> None:
        self._engine = engine
        self._cache = cache
        self._cycle = cycle

    def reconcile(self, key: Key) -> float | None:
        """Take back what was set aside."""
        if (pending := self._cache.pending.get(key[1])) is not None:
            pending.retry()
            self._engine.add(self._cycle, ALL_QUEUES)
        return None


class Feed:
    """Subscribes, keeps the cache, and queues whoever has to look."""

    def __init__(  # noqa: PLR0913 - the reconcilers it feeds
        self,
        engine: Engine,
        cache: Cache,
        *,
        timing: Timing,
        cycle: Reconciler,
        workloads: Reconciler,
        local_status: Reconciler,
        cluster_status: Reconciler,
    ) -> None:
        self._engine = engine
        self._cache = cache
        self._timing = timing
        self._cycle = cycle
        self._workloads = workloads
        self._local_status = local_status
        self._cluster_status = cluster_status
        self._retry = Retry(engine, cache, cycle)

    def subscribe(self, storage: Storage) -> None:
        """Take in what is there, then every change."""
        feeds = (
            (TOPOLOGIES, self._topology),
            (RESOURCEFLAVORS, self._flavor),
            (ADMISSIONCHECKS, self._check),
            (CLUSTERQUEUES, self._cluster_queue),
            (LOCALQUEUES, self._local_queue),
            (WORKLOADS, self._workload),
        )
        for kind, callback in feeds:
            _replay(storage, kind, callback)

    def _topology(self, change: Change, obj: Json) -> None:
        name = obj["metadata"]["name"]
        if change is Change.DELETED:
            self._cache.topologies.pop(name, None)
        else:
            levels = tuple(level["nodeLabel"] for level in obj["spec"]["levels"])
            self._cache.topologies[name] = Topology(name=name, levels=levels)
        self._retry_all()

    def _flavor(self, change: Change, obj: Json) -> None:
        if change is Change.DELETED:
            self._cache.flavors.pop(obj["metadata"]["name"], None)
        else:
            self._cache.flavors[obj["metadata"]["name"]] = flavor(obj)
        self._retry_all()

    def _check(self, change: Change, obj: Json) -> None:
        if change is Change.DELETED:
            self._cache.checks.pop(obj["metadata"]["name"], None)
        else:
            self._cache.checks[obj["metadata"]["name"]] = obj
        self._retry_all()

    def _retry_all(self) -> None:
        for name in self._cache.ledger.queues:
            self._engine.add(self._cluster_status, ("", name))
            self._engine.add(self._retry, ("", name))

    def _cluster_queue(self, change: Change, obj: Json) -> None:
        name = obj["metadata"]["name"]
        new = None if change is Change.DELETED else cluster_queue(obj)
        if is_deleted(obj):
            self._engine.add(self._cluster_status, ("", name))
        if new == self._cache.ledger.queues.get(name):
            return
        concerned = self._users_of(name)
        if new is None:
            self._cache.drop_queue(name)
        else:
            self._cache.put_queue(new)
            self._engine.add(self._cluster_status, ("", name))
        for local in [key for key in self._cache.local_queues if self._cache.queue_of(key) == name]:
            self._engine.add(self._local_status, local)
        self._look_again(concerned)
        for member in self._cache.ledger.family(name):
            self._engine.add(self._retry, ("", member))

    def _users_of(self, name: str) -> list[Key]:
        locals_ = [key for key in self._cache.local_queues if self._cache.queue_of(key) == name]
        users = [key for local in locals_ for key in self._cache.users.get(local, ())]
        return sorted({*users, *self._cache.holders.get(name, {})})

    def _local_queue(self, change: Change, obj: Json) -> None:
        key = key_of(obj)
        old = self._cache.local_queues.get(key)
        if change is Change.DELETED:
            self._cache.local_queues.pop(key, None)
        else:
            self._cache.local_queues[key] = obj
            self._engine.add(self._local_status, key)
        if change is Change.MODIFIED and old and old["spec"] == obj["spec"]:
            return
        self._look_again(sorted(self._cache.users.get(key, ())))

    def _look_again(self, keys: list[Key]) -> None:
        """Queues changed under these Workloads."""
        for key in keys:
            self._engine.add(self._workloads, key)

    def _workload(self, change: Change, obj: Json) -> None:
        was = self._queue_names(key_of(obj), obj)
        moved = self._cache.forget(obj) if change is Change.DELETED else self._cache.observe(obj)
        self._react(moved)
        self._engine.add(self._workloads, key_of(obj))
        for name in was | self._queue_names(key_of(obj), obj):
            self._engine.add_later(self._cluster_status, ("", name), after=self._timing.queue_status)
        local = (obj["metadata"]["namespace"], obj["spec"].get("queueName", ""))
        self._engine.add_later(self._local_status, local, after=self._timing.queue_status)

    def _queue_names(self, key: Key, obj: Json) -> set[str]:
        holder = self._cache.holder(key)
        local = (obj["metadata"]["namespace"], obj["spec"].get("queueName", ""))
        return {holder.queue if holder else "", self._cache.queue_of(local)} - {""}

    def _react(self, moved: Moved) -> None:
        if moved.freed:
            for member in self._cache.ledger.family(moved.freed):
                if (pending := self._cache.pending.get(member)) is not None:
                    pending.release()
                self._engine.add_later(self._retry, ("", member), after=self._timing.requeue)
        if moved.freed or (moved.queued and not moved.why):
            self._engine.add(self._cycle, ALL_QUEUES)


def _replay(storage: Storage, kind: Kind, callback: object) -> None:
    assert callable(callback)
    for obj in storage.list(kind):
        callback(Change.ADDED, obj)
    storage.subscribe(kind, callback)
