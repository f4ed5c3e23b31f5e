"""The Workload controller: admission checks, stopped queues, deactivation, and why a Workload waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import WORKLOADS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import Api
from k8s_bridge.sandbox.controllers.engine import Engine, Reconciler
from k8s_bridge.sandbox.controllers.kueue import messages, transitions
from k8s_bridge.sandbox.controllers.kueue.cache import Cache, holds_quota, stop_policy
from k8s_bridge.sandbox.controllers.kueue.cycle import ALL_QUEUES, tell_waiting
from k8s_bridge.sandbox.controllers.kueue.model import StopPolicy
from k8s_bridge.sandbox.controllers.kueue.workload import FINALIZER

SOURCE = "kueue-workload-controller"
_TOO_LONG = "MaximumExecutionTimeExceeded"
_RESTARTED = {
    "ClusterQueueStopped": ("ClusterQueueRestarted", messages.CLUSTER_QUEUE_RESTARTED),
    "LocalQueueStopped": ("LocalQueueRestarted", messages.LOCAL_QUEUE_RESTARTED),
}
Step = Callable[[Json], bool]


class WorkloadLifecycle:
    """Each reconcile takes the first step that applies; its write brings the key back."""

    name = "kueue-workload"

    def __init__(self, api: Api, engine: Engine, cache: Cache, cycle: Reconciler) -> None:
        self._api = api
        self._engine = engine
        self._cache = cache
        self._cycle = cycle

    def reconcile(self, key: Key) -> float | None:
        """Take one step."""
        obj = self._api.storage.find(WORKLOADS, *key)
        if obj is None:
            return None
        if conditions.is_true(obj, transitions.FINISHED):
            self._api.drop_finalizer(WORKLOADS, obj, FINALIZER)
            return None
        steps: Sequence[Step] = (
            self._sync_checks,
            self._deactivate,
            self._reactivate,
            self._judge_checks,
            self._drain,
            self._restart,
            self._limit_time,
            self._admit,
            self._explain,
        )
        any(step(obj) for step in steps)
        return self._time_left(obj)

    def _write(self, obj: Json, status: Json) -> bool:
        return self._api.set_status(WORKLOADS, obj, status) is not obj

    def _sync_checks(self, obj: Json) -> bool:
        queue = self._cache.ledger.queues.get(self._cluster_queue(obj))
        if queue is None:
            return False
        return self._write(obj, transitions.with_checks(obj, queue.checks, now=self._api.stamp))

    def _cluster_queue(self, obj: Json) -> str:
        if holds_quota(obj):
            return str(obj["status"]["admission"]["clusterQueue"])
        return self._cache.queue_of(_local(obj))

    def _deactivate(self, obj: Json) -> bool:
        if obj["spec"].get("active", True):
            return False
        if conditions.is_true(obj, transitions.EVICTED):
            return True
        target = conditions.find(obj, transitions.DEACTIVATION_TARGET)
        text = messages.deactivated(target["message"]) if target else messages.DEACTIVATED
        return self._evict(obj, "Deactivated", text, cause=target["reason"] if target else "")

    def _reactivate(self, obj: Json) -> bool:
        requeued = conditions.find(obj, transitions.REQUEUED)
        if (
            requeued is None
            or requeued["status"] == "True"
            or not requeued["reason"].startswith("Deactivated")
        ):
            return False
        return self._requeue(obj, "Reactivated", messages.REACTIVATED)

    def _requeue(self, obj: Json, reason: str, message: str) -> bool:
        return self._write(obj, transitions.requeue(obj, reason=reason, message=message, now=self._api.stamp))

    def _judge_checks(self, obj: Json) -> bool:
        checks = (obj.get("status") or {}).get("admissionChecks") or ()
        if bad := [c for c in checks if c["state"] == "Rejected"]:
            return self._reject(obj, bad)
        if any(c["state"] == "Retry" for c in checks) and not conditions.is_true(obj, transitions.EVICTED):
            return self._evict(obj, "AdmissionCheck", messages.CHECK_FALSE)
        requeued = conditions.find(obj, transitions.REQUEUED)
        if requeued and requeued["status"] == "False" and requeued["reason"] == "AdmissionCheck":
            return self._requeue(obj, "BackoffFinished", messages.BACKOFF_FINISHED)
        return False

    def _reject(self, obj: Json, bad: Sequence[Json]) -> bool:
        names = [c["name"] for c in bad]
        if not conditions.is_true(obj, transitions.DEACTIVATION_TARGET):
            text = messages.rejected(names)
            new = transitions.target_deactivation(
                obj, reason="AdmissionCheck", message=text, now=self._api.stamp
            )
            obj = self._api.set_status(WORKLOADS, obj, new)
            why = f"Deactivating workload because AdmissionCheck for {','.join(names)} was Rejected: "
            why += ",".join(c["message"] for c in bad)
            self._api.event(obj, "AdmissionCheckRejected", why, source=SOURCE, warning=True)
            return True
        self._api.patch(WORKLOADS, obj, {"spec": {"active": False}})
        return True

    def _drain(self, obj: Json) -> bool:
        if not holds_quota(obj) or conditions.is_true(obj, transitions.EVICTED):
            return False
        queue = self._cache.ledger.queues.get(self._cluster_queue(obj))
        if queue and queue.stop is StopPolicy.HOLD_AND_DRAIN:
            return self._evict(obj, "ClusterQueueStopped", messages.CLUSTER_QUEUE_STOPPED)
        local = self._cache.local_queues.get(_local(obj))
        if local and stop_policy(local) is StopPolicy.HOLD_AND_DRAIN:
            return self._evict(obj, "LocalQueueStopped", messages.LOCAL_QUEUE_STOPPED)
        return False

    def _evict(self, obj: Json, reason: str, message: str, *, cause: str = "") -> bool:
        status = transitions.evict(obj, reason=reason, message=message, now=self._api.stamp, cause=cause)
        obj = self._api.set_status(WORKLOADS, obj, status)
        condition = conditions.find(obj, transitions.EVICTED)
        assert condition is not None
        if holds_quota(obj):
            self._api.event(obj, f"EvictedDueTo{condition['reason']}", message, source=SOURCE)
        return True

    def _restart(self, obj: Json) -> bool:
        requeued = conditions.find(obj, transitions.REQUEUED)
        if requeued is None or requeued["status"] == "True" or requeued["reason"] not in _RESTARTED:
            return False
        if self._cache.problem(_local(obj)):
            return False
        return self._requeue(obj, *_RESTARTED[requeued["reason"]])

    def _limit_time(self, obj: Json) -> bool:
        left = self._time_left(obj)
        if left is None or left > 0:
            return False
        if not conditions.is_true(obj, transitions.DEACTIVATION_TARGET):
            text = "exceeding the maximum execution time"
            new = transitions.target_deactivation(obj, reason=_TOO_LONG, message=text, now=self._api.stamp)
            return self._write(obj, new)
        self._api.patch(WORKLOADS, obj, {"spec": {"active": False}})
        text = f"The maximum execution time ({obj['spec']['maximumExecutionTimeSeconds']}s) exceeded"
        self._api.event(obj, _TOO_LONG, text, source=SOURCE, warning=True)
        return True

    def _time_left(self, obj: Json) -> float | None:
        limit = obj["spec"].get("maximumExecutionTimeSeconds")
        admitted = conditions.find(obj, transitions.ADMITTED)
        if limit is None or admitted is None or admitted["status"] != "True":
            return None
        if conditions.is_true(obj, transitions.EVICTED):
            return None
        ran = self._api.now - parse_stamp(admitted["lastTransitionTime"]).timestamp()
        return float(limit - obj["status"].get("accumulatedPastExecutionTimeSeconds", 0) - ran)

    def _admit(self, obj: Json) -> bool:
        ready = all(c["state"] == "Ready" for c in (obj.get("status") or {}).get("admissionChecks") or ())
        going = conditions.is_true(obj, transitions.EVICTED)
        if not holds_quota(obj) or not ready or going or conditions.is_true(obj, transitions.ADMITTED):
            return False
        reserved = conditions.find(obj, transitions.QUOTA_RESERVED)
        assert reserved is not None
        obj = self._api.set_status(WORKLOADS, obj, transitions.admit(obj, now=self._api.stamp))
        waited = round(self._api.now - parse_stamp(reserved["lastTransitionTime"]).timestamp())
        text = (
            f"Admitted by ClusterQueue {self._cluster_queue(obj)}, wait time since reservation was {waited}s"
        )
        self._api.event(obj, "Admitted", text, source=SOURCE)
        return True

    def _explain(self, obj: Json) -> bool:
        if holds_quota(obj) or "deletionTimestamp" in obj["metadata"]:
            return False
        moved = self._cache.observe(obj)
        if problem := self._cache.problem(_local(obj)):
            status = transitions.wait(obj, reason="Inadmissible", message=problem, now=self._api.stamp)
            return self._write(obj, status)
        if moved.why:
            tell_waiting(self._api, self._cache, obj, moved.why)
        elif moved.queued:
            self._engine.add(self._cycle, ALL_QUEUES)
        return True


def _local(obj: Json) -> Key:
    return (obj["metadata"]["namespace"], obj["spec"].get("queueName", ""))
