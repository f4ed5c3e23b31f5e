"""The JobSet controller: Jobs for a JobSet, suspended and resumed with it, restarted when they fail."""

from __future__ import annotations

from collections.abc import Sequence

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import JOBS, JOBSETS, Propagation
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers import jobset_render as render
from k8s_bridge.sandbox.controllers.api import Api, Owned, is_deleted, key_of

SOURCE = "jobset"
_RESTART = "RestartJobSet"
_RESTART_FREE = "RestartJobSetAndIgnoreMaxRestarts"
_FAIL = "FailJobSet"


class JobSetController:
    """Observes the Jobs of one JobSet, then acts once on each pass."""

    name = "jobset"

    def __init__(self, api: Api, jobs: Owned) -> None:
        self._api = api
        self._jobs = jobs

    def reconcile(self, key: Key) -> float | None:
        """One pass."""
        jobset = self._api.storage.find(JOBSETS, *key)
        if jobset is None or is_deleted(jobset):
            return None
        attempt = str((jobset.get("status") or {}).get("restarts", 0))
        children = self._jobs.of(jobset["metadata"]["uid"])
        current = [j for j in children if j["metadata"]["labels"][render.RESTART_ATTEMPT] == attempt]
        self._delete([j for j in children if j not in current])
        if render.is_finished(jobset):
            self._delete([j for j in current if not render.is_finished(j)])
            return None
        jobset = self._count(jobset, current)
        if failed := [j for j in current if conditions.is_true(j, "Failed")]:
            self._fail(jobset, failed)
        elif render.has_succeeded(jobset, current):
            self._complete(jobset)
        else:
            self._create_missing(jobset, children, attempt=int(attempt))
            self._follow_suspend(jobset, current)
        return None

    def _delete(self, jobs: Sequence[Json]) -> None:
        for job in jobs:
            if not is_deleted(job):
                self._api.storage.delete(JOBS, *key_of(job), propagation=Propagation.FOREGROUND)

    def _count(self, jobset: Json, current: Sequence[Json]) -> Json:
        old = jobset.get("status") or {}
        counted = render.replicated_status(jobset, current)
        status = {"restarts": 0} | old | {"replicatedJobsStatus": counted}
        if jobset["spec"]["suspend"] and not old:
            return jobset  # the first status also says Suspended; see _follow_suspend
        return self._api.set_status(JOBSETS, jobset, status)

    def _create_missing(self, jobset: Json, children: Sequence[Json], *, attempt: int) -> None:
        taken = {j["metadata"]["name"] for j in children}
        for job in render.jobs(jobset, attempt=attempt):
            if job["metadata"]["name"] not in taken:
                self._api.storage.create(JOBS, job)

    def _follow_suspend(self, jobset: Json, current: Sequence[Json]) -> None:
        if jobset["spec"]["suspend"]:
            for job in current:
                if not job["spec"].get("suspend") and not render.is_finished(job):
                    self._api.patch(JOBS, job, {"spec": {"suspend": True}})
            self._say(jobset, suspended="True", reason="SuspendedJobs", message="jobset is suspended")
            return
        for job in current:
            if job["spec"].get("suspend"):
                self._resume(jobset, job)
        if conditions.is_true(jobset, "Suspended"):
            self._say(jobset, suspended="False", reason="ResumeJobs", message="jobset is resumed")

    def _resume(self, jobset: Json, job: Json) -> None:
        """Kueue changed the pod template while the JobSet was suspended: the Job takes that over."""
        if (job.get("status") or {}).get("startTime"):
            status = {k: v for k, v in job["status"].items() if k != "startTime"}
            job = self._api.set_status(JOBS, job, status)
        name = job["metadata"]["labels"][render.REPLICATED_JOB]
        entry = next(r for r in jobset["spec"]["replicatedJobs"] if r["name"] == name)
        wanted = render.pod_template(jobset, entry, render.marks_of(job))
        template = _merged(job["spec"]["template"], wanted)
        self._api.replace(JOBS, job | {"spec": job["spec"] | {"suspend": False, "template": template}})

    def _say(self, jobset: Json, *, suspended: str, reason: str, message: str) -> None:
        status = {"restarts": 0} | (jobset.get("status") or {})
        status.setdefault("replicatedJobsStatus", render.replicated_status(jobset, ()))
        condition = {"type": "Suspended", "status": suspended, "reason": reason, "message": message}
        known = status.get("conditions") or ()
        status["conditions"] = conditions.with_set(known, condition, now=self._api.stamp)
        if self._api.set_status(JOBSETS, jobset, status) is not jobset:
            self._api.event(jobset, reason, message, source=SOURCE)

    def _complete(self, jobset: Json) -> None:
        text = "jobset completed successfully"
        self._end(jobset, type_="Completed", reason="AllJobsCompleted", message=text)
        self._api.event(jobset, "AllJobsCompleted", text, source=SOURCE)

    def _end(self, jobset: Json, *, type_: str, reason: str, message: str) -> None:
        status = jobset["status"] | {"terminalState": type_}
        condition = {"type": type_, "status": "True", "reason": reason, "message": message}
        known = status.get("conditions") or ()
        status["conditions"] = conditions.with_set(known, condition, now=self._api.stamp)
        self._api.set_status(JOBSETS, jobset, status)

    def _fail(self, jobset: Json, failed: Sequence[Json]) -> None:
        first = min(failed, key=lambda j: (_failed_at(j), j["metadata"]["name"]))
        name = first["metadata"]["name"]
        policy = jobset["spec"].get("failurePolicy")
        if policy is None:
            self._give_up(jobset, "FailedJobs", "jobset failed due to one or more job failures", name)
            return
        action = _action(policy, first)
        used = jobset["status"].get("restartsCountTowardsMax", 0)
        if action == _FAIL:
            self._give_up(
                jobset, "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action", name
            )
        elif action == _RESTART_FREE or used < policy["maxRestarts"]:
            counted = used if action == _RESTART_FREE else used + 1
            self._restart(jobset, action, name, counted=counted)
        else:
            text = "jobset failed due to reaching max number of restarts"
            self._give_up(jobset, "ReachedMaxRestarts", text, name)

    def _give_up(self, jobset: Json, reason: str, text: str, first: str) -> None:
        message = f"{text} (first failed job: {first})"
        self._end(jobset, type_="Failed", reason=reason, message=message)
        self._api.event(jobset, reason, message, source=SOURCE, warning=True)

    def _restart(self, jobset: Json, action: str, first: str, *, counted: int) -> None:
        status = jobset["status"] | {"restarts": jobset["status"]["restarts"] + 1}
        if counted:
            status["restartsCountTowardsMax"] = counted
        self._api.set_status(JOBSETS, jobset, status)
        text = f"applying {action} failure policy action (first failed job: {first})"
        self._api.event(jobset, f"{action}FailurePolicyAction", text, source=SOURCE, warning=True)


def _failed_at(job: Json) -> str:
    failed = conditions.find(job, "Failed")
    return failed["lastTransitionTime"] if failed else ""


def _action(policy: Json, job: Json) -> str:
    """What the first matching rule of a failure policy says about this failed Job."""
    failed = conditions.find(job, "Failed")
    reason = failed["reason"] if failed else ""
    name = job["metadata"]["labels"][render.REPLICATED_JOB]
    for rule in policy.get("rules") or ():
        reasons, targets = rule.get("onJobFailureReasons"), rule.get("targetReplicatedJobs")
        if (not reasons or reason in reasons) and (not targets or name in targets):
            return str(rule["action"])
    return _RESTART


def _merged(have: Json, wanted: Json) -> Json:
    """The Job's template with the wanted scheduling facts, and its own labels kept."""
    spec = dict(have["spec"])
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(field, None)
        if field in wanted["spec"]:
            spec[field] = wanted["spec"][field]
    old, new = have.get("metadata") or {}, wanted["metadata"]
    metadata = {key: (old.get(key) or {}) | (new.get(key) or {}) for key in ("labels", "annotations")}
    return have | {"metadata": metadata, "spec": spec}
