"""Jobs and their Workloads: one is made for the other, starts it, stops it, and ends with it."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import PRIORITYCLASSES, WORKLOADS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import Api, Owned, is_deleted
from k8s_bridge.sandbox.controllers.kueue import messages, transitions, workload
from k8s_bridge.sandbox.controllers.kueue.adapters import Adapter
from k8s_bridge.sandbox.controllers.kueue.cache import Cache
from k8s_bridge.sandbox.controllers.kueue.templates import admitted_templates, original_templates
from k8s_bridge.sandbox.controllers.timing import Timing


class JobReconciler:
    """Kueue's side of one kind of job."""

    def __init__(self, api: Api, cache: Cache, adapter: Adapter, workloads: Owned, *, timing: Timing) -> None:
        self.name = f"kueue-{adapter.kind.plural}"
        self._api = api
        self._cache = cache
        self._adapter = adapter
        self._workloads = workloads
        self._timing = timing

    def reconcile(self, key: Key) -> float | None:
        """Bring the job and its Workload one step closer."""
        job = self._api.storage.find(self._adapter.kind, *key)
        if job is None or not _queue(job):
            return None
        mine = self._workloads.of(job["metadata"]["uid"])
        if is_deleted(job):
            for found in mine:
                self._api.drop_finalizer(WORKLOADS, found, workload.FINALIZER)
            self._let_go(job)
            return None
        if not mine:
            return self._without_workload(job)
        found = self._api.storage.get(WORKLOADS, key[0], mine[0]["metadata"]["name"])
        self._with_workload(job, found)
        return None

    def _without_workload(self, job: Json) -> float | None:
        if self._adapter.finished(job):
            return None
        if not self._adapter.is_suspended(job):
            self._stop(job, {}, messages.NOT_ADMITTED)
            return None
        pod_sets = self._adapter.pod_sets(job)
        if self._adapter.is_active(job) or not pod_sets:
            return None
        return self._create(job, pod_sets)

    def _create(self, job: Json, pod_sets: list[Json]) -> float | None:
        name = (job["metadata"].get("labels") or {}).get(workload.PRIORITY_CLASS, "")
        priority = 0
        if name:
            found = self._api.storage.find(PRIORITYCLASSES, "", name)
            if found is None:
                return self._timing.retry
            priority = int(found["value"])
        manifest = workload.build(job, pod_sets, priority=priority, priority_class=name)
        created = self._api.storage.create(WORKLOADS, manifest)
        text = f"Created Workload: {created['metadata']['namespace']}/{created['metadata']['name']}"
        self._api.event(job, "CreatedWorkload", text, source=self._adapter.source)
        return None

    def _with_workload(self, job: Json, found: Json) -> None:
        if is_deleted(found):
            self._release(job, found)
        elif conditions.is_true(found, transitions.FINISHED):
            return
        elif ended := self._adapter.finished(job):
            self._finish(job, found, *ended)
        elif self._follow_labels(job, found) or self._reclaim(job, found):
            return
        elif conditions.is_true(found, transitions.EVICTED):
            self._evicted(job, found)
        elif self._adapter.is_suspended(job):
            self._start(job, found)
        elif not conditions.is_true(found, transitions.ADMITTED):
            self._stop(job, original_templates(found), messages.NOT_ADMITTED)

    def _release(self, job: Json, found: Json) -> None:
        if not self._adapter.is_suspended(job):
            self._stop(job, original_templates(found), messages.WORKLOAD_DELETED)
        self._api.drop_finalizer(WORKLOADS, found, workload.FINALIZER)

    def _finish(self, job: Json, found: Json, reason: str, message: str) -> None:
        status = transitions.finish(found, reason=reason, message=message, now=self._api.stamp)
        self._api.set_status(WORKLOADS, found, status)
        name = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
        text = f"Workload '{name}' is declared finished"
        self._api.event(job, "FinishedWorkload", text, source=self._adapter.source)
        self._let_go(job)

    def _follow_labels(self, job: Json, found: Json) -> bool:
        """Another priority class, or another queue while it waits."""
        labels, spec = job["metadata"].get("labels") or {}, found["spec"]
        patch: Json = {}
        name = labels.get(workload.PRIORITY_CLASS, "")
        if name and name != (spec.get("priorityClassRef") or {}).get("name"):
            class_ = self._api.storage.find(PRIORITYCLASSES, "", name)
            if class_ is not None:
                patch |= {
                    "priority": int(class_["value"]),
                    "priorityClassRef": workload.class_reference(name),
                }
        if self._adapter.is_suspended(job) and _queue(job) != spec["queueName"]:
            patch["queueName"] = _queue(job)
        if patch:
            found = self._api.patch(WORKLOADS, found, {"spec": patch})
        if "priority" in patch:
            who = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
            text = f"Updated workload priority class: {who}"
            self._api.event(job, "UpdatedWorkload", text, source=self._adapter.source)
        return bool(patch)

    def _reclaim(self, job: Json, found: Json) -> bool:
        """Pods that have ended hold no quota while the others run."""
        status = dict(found.get("status") or {})
        old, new = status.pop("reclaimablePods", []), self._adapter.reclaimable(job)
        if old != new:
            self._api.set_status(WORKLOADS, found, status | ({"reclaimablePods": new} if new else {}))
        return bool(old != new)

    def _evicted(self, job: Json, found: Json) -> None:
        if not self._adapter.is_suspended(job):
            eviction = conditions.find(found, transitions.EVICTED)
            assert eviction is not None
            self._stop(job, original_templates(found), eviction["message"])
        elif "admission" in found["status"] and not self._adapter.is_active(job):
            self._api.set_status(WORKLOADS, found, transitions.unreserve(found, now=self._api.stamp))

    def _start(self, job: Json, found: Json) -> None:
        if not conditions.is_true(found, transitions.ADMITTED):
            self._tell_checks(job, found)
            return
        job = self._api.replace(
            self._adapter.kind, self._adapter.started(job, admitted_templates(found, self._cache.flavors))
        )
        text = f"Admitted by clusterQueue {found['status']['admission']['clusterQueue']}"
        self._api.event(job, "Started", text, source=self._adapter.source)

    def _tell_checks(self, job: Json, found: Json) -> None:
        checks = (found.get("status") or {}).get("admissionChecks") or ()
        said = [
            f"{c['name']}: {c['message']}"
            for c in checks
            if c["message"] and c["state"] in ("Pending", "Ready")
        ]
        if said and conditions.is_true(found, transitions.QUOTA_RESERVED):
            self._api.event(job, "UpdatedAdmissionCheck", "; ".join(said), source=self._adapter.source)

    def _stop(self, job: Json, templates: dict[str, Json], message: str) -> None:
        stopped = self._adapter.stopped(job, templates)
        if stopped is None:
            self._api.delete(self._adapter.kind, job)
        else:
            job = self._api.replace(self._adapter.kind, stopped)
        self._api.event(job, "Stopped", message, source=self._adapter.source)

    def _let_go(self, job: Json) -> None:
        if self._adapter.finalizer:
            self._api.drop_finalizer(self._adapter.kind, job, self._adapter.finalizer)


class OrphanReconciler:
    """Lets a Workload go whose job is gone."""

    name = "kueue-orphans"

    def __init__(self, api: Api) -> None:
        self._api = api

    def reconcile(self, key: Key) -> float | None:
        """Drop the finalizer: nobody has to be stopped any more."""
        found = self._api.storage.find(WORKLOADS, *key)
        if found is not None:
            self._api.drop_finalizer(WORKLOADS, found, workload.FINALIZER)
        return None


def _queue(job: Json) -> str:
    return str((job["metadata"].get("labels") or {}).get(workload.QUEUE_NAME, ""))
