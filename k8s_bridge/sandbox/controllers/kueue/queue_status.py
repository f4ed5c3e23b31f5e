"""What ClusterQueues and LocalQueues say about themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import CLUSTERQUEUES, LOCALQUEUES
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import Api
from k8s_bridge.sandbox.controllers.engine import Engine, Reconciler
from k8s_bridge.sandbox.controllers.kueue.cache import Cache, stop_policy
from k8s_bridge.sandbox.controllers.kueue.model import ClusterQueue, FlavorResource, StopPolicy
from k8s_bridge.sandbox.controllers.kueue.preemption import Holder
from k8s_bridge.sandbox.controllers.quantity import text

FINALIZER = "kueue.x-k8s.io/resource-in-use"
_CLOSED = "Can't submit new workloads to clusterQueue"


class ClusterQueueStatus:
    """Writes the status of ClusterQueues and guards their deletion; keys are ("", name)."""

    name = "kueue-clusterqueue"

    def __init__(self, api: Api, engine: Engine, cache: Cache, local: Reconciler) -> None:
        self._api = api
        self._engine = engine
        self._cache = cache
        self._local = local

    def reconcile(self, key: Key) -> float | None:
        """Bring the status up to date."""
        obj = self._api.storage.find(CLUSTERQUEUES, *key)
        queue = self._cache.ledger.queues.get(key[1])
        if obj is None or queue is None:
            return None
        holders = self._cache.holders[key[1]].values()
        if "deletionTimestamp" in obj["metadata"]:
            if not holders:
                self._api.drop_finalizer(CLUSTERQUEUES, obj, FINALIZER)
            return None
        new = self._api.set_status(CLUSTERQUEUES, obj, self._status(obj, queue))
        if conditions.find(new, "Active") != conditions.find(obj, "Active"):
            for local in [k for k in self._cache.local_queues if self._cache.queue_of(k) == queue.name]:
                self._engine.add(self._local, local)
        return None

    def _status(self, obj: Json, queue: ClusterQueue) -> Json:
        trouble = self._cache.trouble(queue)
        reason, message = trouble or ("Ready", "Can admit new workloads")
        holders = list(self._cache.holders[queue.name].values())
        counts = _counts(holders, pending=len(self._cache.pending[queue.name]))
        quotas = {fr: q.nominal for fr, q in queue.quotas.items()}
        return {
            **counts,
            "conditions": _active(
                obj, active=trouble is None, reason=reason, message=message, now=self._api.stamp
            ),
            "flavorsReservation": _flavors(quotas, holders, borrowed=True),
            "flavorsUsage": _flavors(quotas, [h for h in holders if h.admitted], borrowed=True),
        }


class LocalQueueStatus:
    """Writes the status of LocalQueues."""

    name = "kueue-localqueue"

    def __init__(self, api: Api, cache: Cache) -> None:
        self._api = api
        self._cache = cache

    def reconcile(self, key: Key) -> float | None:
        """Bring the status up to date."""
        obj = self._api.storage.find(LOCALQUEUES, *key)
        if obj is not None:
            self._api.set_status(LOCALQUEUES, obj, self._status(obj, key))
        return None

    def _status(self, obj: Json, key: Key) -> Json:
        queue = self._cache.ledger.queues.get(self._cache.queue_of(key))
        reason, message = self._verdict(obj, queue)
        everybody = self._cache.holders[queue.name].values() if queue else ()
        holders = [h for h in everybody if h.workload.queue == key]
        active = reason == "Ready"
        status = {
            **_counts(holders, pending=len(self._cache.waiting.get(key, ()))),
            "conditions": _active(obj, active=active, reason=reason, message=message, now=self._api.stamp),
        }
        if queue is None:
            return status
        quotas = {fr: q.nominal for fr, q in queue.quotas.items()}
        return status | {
            "flavorsReservation": _flavors(quotas, holders, borrowed=False),
            "flavorsUsage": _flavors(quotas, [h for h in holders if h.admitted], borrowed=False),
        }

    def _verdict(self, obj: Json, queue: ClusterQueue | None) -> tuple[str, str]:
        if stop_policy(obj) is not StopPolicy.NONE:
            return "Stopped", "LocalQueue is stopped"
        if queue is None:
            return "ClusterQueueDoesNotExist", _CLOSED
        if self._cache.trouble(queue):
            return "ClusterQueueIsInactive", _CLOSED
        return "Ready", "Can submit new workloads to localQueue"


def _counts(holders: Iterable[Holder], *, pending: int) -> Json:
    everybody = list(holders)
    return {
        "admittedWorkloads": sum(h.admitted for h in everybody),
        "pendingWorkloads": pending,
        "reservingWorkloads": len(everybody),
    }


def _active(obj: Mapping[str, Any], *, active: bool, reason: str, message: str, now: str) -> list[Json]:
    condition = {
        "type": "Active",
        "status": "True" if active else "False",
        "reason": reason,
        "message": message,
        "observedGeneration": obj["metadata"]["generation"],
    }
    return conditions.with_set((obj.get("status") or {}).get("conditions") or (), condition, now=now)


def _flavors(
    quotas: Mapping[FlavorResource, int], holders: Iterable[Holder], *, borrowed: bool
) -> list[Json]:
    used: Counter[FlavorResource] = Counter()
    for holder in holders:
        used.update(holder.usage)
    flavors: dict[str, list[Json]] = {}
    for (flavor, resource), nominal in quotas.items():
        amount = used[flavor, resource]
        entry = {"name": resource, "total": text(resource, amount)}
        if borrowed:
            entry["borrowed"] = text(resource, max(0, amount - nominal))
        flavors.setdefault(flavor, []).append(entry)
    return [{"name": name, "resources": resources} for name, resources in flavors.items()]
