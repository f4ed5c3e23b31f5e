"""The Job controller: pods for a Job, replaced with back-off, counted once, gone when it is suspended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import JOBS, PODS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions, job_status
from k8s_bridge.sandbox.controllers import job_render as render
from k8s_bridge.sandbox.controllers.api import Api, Owned, is_deleted
from k8s_bridge.sandbox.controllers.job_status import Tally, Verdict
from k8s_bridge.sandbox.controllers.timing import Timing

SOURCE = "job-controller"
_FINAL = {job_status.SUCCESS: "Complete", job_status.FAILURE: "Failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backoff:
    """Failures since the last success, and when the last one was (seconds since the epoch)."""

    failures: int = 0
    last: float = 0.0


class JobController:
    """Each reconcile writes the status at most once; that write brings the key back for the next step."""

    name = "job"

    def __init__(self, api: Api, pods: Owned, *, timing: Timing) -> None:
        self._api = api
        self._pods = pods
        self._timing = timing
        self._backoffs: dict[str, _Backoff] = {}

    def reconcile(self, key: Key) -> float | None:
        """One step."""
        job = self._api.storage.find(JOBS, *key)
        if job is None or is_deleted(job):
            return None
        pods = self._pods.of(job["metadata"]["uid"])
        if conditions.is_true(job, "Complete") or conditions.is_true(job, "Failed"):
            self._backoffs.pop(job["metadata"]["uid"], None)
            self._release(pods)
            return None
        now = self._api.now
        counted = job_status.tally(job, pods, now=now, patience=self._timing.job_terminating)
        if job["spec"]["suspend"]:
            return self._suspend(job, counted)
        return self._run(job, pods, counted)

    def _suspend(self, job: Json, counted: Tally) -> float | None:
        self._stop(job, counted.active)
        status = dict(job.get("status") or {})
        pods = self._pods.of(job["metadata"]["uid"])
        gone = [p for p in pods if is_deleted(p) and render.phase(p) not in ("Succeeded", "Failed")]
        status.pop("active", None)
        status |= {"ready": 0, "terminating": len(gone)}
        status.setdefault("uncountedTerminatedPods", {})
        condition = _condition("Suspended", "True", "JobSuspended", "Job suspended", at=self._api.stamp)
        if not conditions.is_true(job, "Suspended"):
            self._api.event(job, "Suspended", "Job suspended", source=SOURCE)
        self._write(job, status, condition)
        return None

    def _stop(self, job: Json, pods: Iterable[Json]) -> None:
        """Delete pods and never count them."""
        gone = list(pods)
        self._delete(job, gone)
        self._release(gone)

    def _delete(self, job: Json, pods: Iterable[Json]) -> None:
        for pod in [p for p in pods if not is_deleted(p)]:
            self._api.delete(PODS, pod)
            text = f"Deleted pod: {pod['metadata']['name']}"
            self._api.event(job, "SuccessfulDelete", text, source=SOURCE)

    def _release(self, pods: Iterable[Json]) -> None:
        for pod in pods:
            found = self._api.storage.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
            if found and found["metadata"]["uid"] == pod["metadata"]["uid"]:
                self._api.drop_finalizer(PODS, found, render.TRACKING)

    def _run(self, job: Json, pods: Sequence[Json], counted: Tally) -> float | None:
        fate = job_status.announced(job)
        new_fate = None if fate else job_status.verdict(job, counted, now=self._api.now)
        if counted.fresh_failed or counted.fresh_succeeded or new_fate:
            self._note(job, counted, new_fate)
            return None
        self._release(p for p in pods if render.is_tracked(p) and self._is_noted(job, p))
        if fate:
            self._finish(job, counted, fate)
            return None
        wait = self._create_missing(job, counted)
        self._report(job)
        return _soonest(wait, self._deadline(job), self._patience(counted))

    def _is_noted(self, job: Json, pod: Json) -> bool:
        known = (job.get("status") or {}).get("uncountedTerminatedPods") or {}
        noted = any(pod["metadata"]["uid"] in uids for uids in known.values())
        return noted or render.phase(pod) in ("Succeeded", "Failed")

    def _note(self, job: Json, counted: Tally, fate: Verdict | None) -> None:
        uid = job["metadata"]["uid"]
        old = self._backoffs.get(uid, _Backoff())
        self._backoffs[uid] = _backoff(old, counted, job_status.countable(job, counted.fresh_failed))
        news = [_condition(fate.type, "True", fate.reason, fate.message, at=self._api.stamp)] if fate else []
        status = job_status.noted(job, counted)
        status.setdefault("startTime", self._api.stamp)
        self._write(job, status, *news)
        if status == job.get("status") and not news:  # only ignored failures: nothing to write, but to let go
            self._release([*counted.fresh_failed, *counted.fresh_succeeded])

    def _finish(self, job: Json, counted: Tally, fate: Verdict) -> None:
        self._delete(job, counted.active)
        status = job_status.live(job_status.settled(job), counted)
        news = []
        if not counted.active and not counted.terminating:
            status.pop("active", None)
            news = [_condition(_FINAL[fate.type], "True", fate.reason, fate.message, at=self._api.stamp)]
            if fate.type == job_status.SUCCESS:
                status["completionTime"] = self._api.stamp
                self._api.event(job, "Completed", "Job completed", source=SOURCE)
            else:
                self._api.event(job, fate.reason, fate.message, source=SOURCE, warning=True)
        self._write(job, status, *news)

    def _create_missing(self, job: Json, counted: Tally) -> float | None:
        held = (
            counted.active
            if job["spec"]["podReplacementPolicy"] != "Failed"
            else (
                *counted.active,
                *(p for p in counted.terminating if p not in counted.active),
            )
        )
        wanted = self._wanted(job, counted, held)
        if not wanted:
            return None
        wait = self._backoff_left(job)
        if wait > 0:
            return wait
        for index in wanted:
            pod = self._api.storage.create(PODS, render.pod(job, index))
            text = f"Created pod: {pod['metadata']['name']}"
            self._api.event(job, "SuccessfulCreate", text, source=SOURCE)
        return None

    @staticmethod
    def _wanted(job: Json, counted: Tally, held: Sequence[Json]) -> list[int]:
        free = job["spec"]["parallelism"] - len(held)
        if not render.is_indexed(job):
            left = job["spec"]["completions"] - (job.get("status") or {}).get("succeeded", 0) - len(held)
            return list(range(max(0, min(free, left))))
        taken = {render.index_of(p) for p in held} | counted.indexes
        return [i for i in range(job["spec"]["completions"]) if i not in taken][: max(0, free)]

    def _backoff_left(self, job: Json) -> float:
        record = self._backoffs.get(job["metadata"]["uid"], _Backoff())
        if not record.failures:
            return 0.0
        longest = self._timing.job_backoff_limit
        delay = min(self._timing.job_backoff * float(1 << min(record.failures - 1, 20)), longest)
        return record.last + delay - self._api.now

    def _report(self, job: Json) -> None:
        pods = self._pods.of(job["metadata"]["uid"])
        counted = job_status.tally(job, pods, now=self._api.now, patience=self._timing.job_terminating)
        status = job_status.live(job_status.settled(job), counted)
        status.setdefault("startTime", self._api.stamp)
        news = []
        if conditions.is_true(job, "Suspended"):
            news = [_condition("Suspended", "False", "JobResumed", "Job resumed", at=self._api.stamp)]
            status["startTime"] = self._api.stamp
            self._api.event(job, "Resumed", "Job resumed", source=SOURCE)
        self._write(job, status, *news)

    def _write(self, job: Json, status: Json, *news: Json) -> None:
        for condition in news:
            known = status.get("conditions") or ()
            status["conditions"] = conditions.with_set(known, condition, now=self._api.stamp)
            mine = next(c for c in status["conditions"] if c["type"] == condition["type"])
            mine["lastProbeTime"] = mine["lastTransitionTime"]
        self._api.set_status(JOBS, job, status)

    def _deadline(self, job: Json) -> float | None:
        left = job_status.deadline(job, now=self._api.now)
        return None if left is None else max(left, 0.0)

    def _patience(self, counted: Tally) -> float | None:
        waits = any(render.is_tracked(p) for p in counted.terminating)
        return self._timing.job_terminating if waits else None


def _condition(type_: str, status: str, reason: str, message: str, *, at: str) -> Json:
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastProbeTime": at}


def _soonest(*waits: float | None) -> float | None:
    return min((w for w in waits if w is not None), default=None)


def _backoff(old: _Backoff, counted: Tally, failed: Sequence[Json]) -> _Backoff:
    if counted.fresh_succeeded:
        old = _Backoff()
    if not failed:
        return old
    last = max(parse_stamp(render.finished_at(p)).timestamp() for p in failed)
    return _Backoff(failures=old.failures + len(failed), last=max(old.last, last))


class PodOrphans:
    """Lets a pod go whose Job is gone or going."""

    name = "job-orphans"

    def __init__(self, api: Api) -> None:
        self._api = api

    def reconcile(self, key: Key) -> float | None:
        """Drop the tracking finalizer of a deleted pod without a live Job."""
        pod = self._api.storage.find(PODS, *key)
        if pod is None or not is_deleted(pod) or not render.is_tracked(pod):
            return None
        owner = next((o for o in pod["metadata"].get("ownerReferences") or () if o.get("controller")), None)
        job = self._api.storage.find(JOBS, key[0], owner["name"]) if owner else None
        if job is None or owner is None or job["metadata"]["uid"] != owner["uid"] or is_deleted(job):
            self._api.drop_finalizer(PODS, pod, render.TRACKING)
        return None
