"""KubeRay's RayJob controller, for RayJobs that run in a RayCluster that is there (clusterSelector)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import JOBS, RAYCLUSTERS, RAYJOBS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.api import Api, is_deleted, key_of
from k8s_bridge.sandbox.controllers.kuberay import job_checks, job_status, submitter
from k8s_bridge.sandbox.controllers.kuberay.cluster_status import READY
from k8s_bridge.sandbox.controllers.kuberay.dashboards import Dashboards, Unreachable
from k8s_bridge.sandbox.controllers.kuberay.names import head_service
from k8s_bridge.sandbox.controllers.timing import Timing

SOURCE = "rayjob-controller"
FINALIZER = "ray.io/rayjob-finalizer"
_DASHBOARD = 8265
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
Step = Callable[[Json], Json | None]


class RayJobController:
    """Takes the step that a status says. What a step answers is the next status; None: it has to wait."""

    name = "rayjob"

    def __init__(self, api: Api, dashboards: Dashboards, *, timing: Timing) -> None:
        self._api = api
        self._dashboards = dashboards
        self._timing = timing
        self._random = random.Random(0)  # noqa: S311 - ends of names
        self._steps: Mapping[str, Step] = {
            "": self._begin,
            "Initializing": self._initialize,
            "Waiting": self._await_id,
            "Running": self._follow,
            "Suspending": self._clear,
            "Retrying": self._clear,
            "Suspended": self._resume,
        }

    def reconcile(self, key: Key) -> float | None:
        """One step, and again after KubeRay's interval while the job is not over."""
        job = self._api.storage.find(RAYJOBS, *key)
        if job is None:
            return None
        if is_deleted(job):
            self._leave(job)
            return None
        reason, message = job_checks.problem(job)
        if message:
            self._refuse(job, reason, message)
            return None
        step = self._steps.get(job_status.deployment(job))
        if step is None:
            return None
        if (new := step(job)) is not None:
            self._write(self._api.storage.get(RAYJOBS, *key), new)
        return self._timing.kuberay_poll

    def _refuse(self, job: Json, reason: str, message: str) -> None:
        namespace, name = key_of(job)
        self._tell(job, reason, f"{namespace}/{name}: {message}", warning=True)
        told = {"jobDeploymentStatus": "ValidationFailed", "reason": "ValidationFailed", "message": message}
        self._write(job, (job.get("status") or {}) | told)

    def _leave(self, job: Json) -> None:
        status = job.get("status") or {}
        if status.get("jobStatus") not in job_status.TERMINAL:
            namespace, _ = key_of(job)
            self._dashboards.stop_job(namespace, status.get("rayClusterName", ""), status.get("jobId", ""))
        self._api.drop_finalizer(RAYJOBS, job, FINALIZER)

    def _begin(self, job: Json) -> Json:
        have = job["metadata"].get("finalizers") or []
        if FINALIZER not in have:
            meta = job["metadata"] | {"finalizers": [*have, FINALIZER]}
            # KubeRay writes the whole object, and its types leave out what is false.
            spec = {name: value for name, value in job["spec"].items() if value is not False}
            self._api.replace(RAYJOBS, job | {"metadata": meta, "spec": spec})
        interactive = job["spec"].get("submissionMode") == "InteractiveMode"
        job_id = "" if interactive else job["spec"].get("jobId") or self._new_id(job)
        return job_status.begun(job, job_id=job_id, cluster=_cluster_name(job), now=self._api.stamp)

    def _new_id(self, job: Json) -> str:
        return f"{job['metadata']['name']}-{''.join(self._random.choices(_LETTERS, k=5))}"

    def _initialize(self, job: Json) -> Json | None:
        if job["spec"].get("suspend"):
            return _moved(job, "Suspending")
        if late := job_status.overdue(job, now=self._api.now):
            return late
        if (cluster := self._cluster(job)) is None:
            return None
        if (cluster.get("status") or {}).get("state") != READY:
            return dict(job["status"], rayClusterStatus=cluster.get("status") or {})
        return self._launch(job, cluster)

    def _cluster(self, job: Json) -> Json | None:
        namespace, name = job["metadata"]["namespace"], _cluster_name(job)
        cluster = self._api.storage.find(RAYCLUSTERS, namespace, name)
        if cluster is None:
            text = f"RayCluster {namespace}/{name} set in the clusterSelector is not found. "
            text += "It must be created manually"
            self._tell(job, "RayClusterNotFound", text, warning=True)
        return cluster

    def _launch(self, job: Json, cluster: Json) -> Json:
        namespace, name = key_of(job)
        url = f"{head_service(_cluster_name(job))}.{namespace}.svc.cluster.local:{_DASHBOARD}"
        status: Json = dict(job["status"], dashboardURL=url)
        mode = job["spec"].get("submissionMode")
        if mode == "InteractiveMode":
            return status | {"jobDeploymentStatus": "Waiting"}
        if mode == "K8sJobMode" and self._api.storage.find(JOBS, namespace, name) is None:
            self._api.storage.create(JOBS, submitter.job(job | {"status": status}, cluster))
            self._tell(job, "CreatedRayJobSubmitter", f"Created Kubernetes Job {namespace}/{name}")
        return status | {"jobDeploymentStatus": "Running"}

    def _await_id(self, job: Json) -> Json | None:
        given = job["spec"].get("jobId")
        return _moved(job, "Running") | {"jobId": given} if given else None

    def _follow(self, job: Json) -> Json | None:
        if job["spec"].get("suspend"):
            return _moved(job, "Suspending")
        now, patience = self._api.now, self._timing.kuberay_transition
        if verdict := job_status.overdue(job, now=now) or job_status.stuck(job, now=now, patience=patience):
            return verdict
        cluster = self._cluster(job)
        if cluster is None:
            return None
        if job["spec"].get("submissionMode") != "K8sJobMode":
            return self._ask(job, cluster, submitted=True)
        found = self._api.storage.find(JOBS, *key_of(job))
        if found is None:
            return None
        verdict = job_status.submitter_verdict(job, found, now=now, patience=self._timing.kuberay_patience)
        return verdict or self._ask(job, cluster, submitted=job_status.has_ended(found))

    def _ask(self, job: Json, cluster: Json, *, submitted: bool) -> Json | None:
        namespace, status = job["metadata"]["namespace"], job["status"]
        try:
            info = self._dashboards.job(namespace, _cluster_name(job), status["jobId"])
            if info is None and job["spec"].get("submissionMode") == "HTTPMode":
                self._dashboards.submit(namespace, _cluster_name(job), submitter.body(job))
                return None
        except Unreachable:
            return None
        if info is not None:
            return job_status.followed(job, info, cluster, submitted=submitted)
        text = "Submitter completed but Ray job not found in RayCluster."
        return job_status.failed(job, "AppFailed", text) if submitted else None

    def _clear(self, job: Json) -> Json | None:
        """Take the submitter away; the RayCluster is not this job's own, and stays."""
        namespace, name = key_of(job)
        found = self._api.storage.find(JOBS, namespace, name)
        if found is not None and job["spec"].get("submissionMode") != "HTTPMode":
            if not is_deleted(found):
                self._api.delete(JOBS, found)
                self._tell(job, "DeletedRayJobSubmitter", f"Deleted submitter K8s Job {namespace}/{name}")
            return None
        suspending = job_status.deployment(job) == "Suspending"
        return job_status.reset(job, deployment_status="Suspended" if suspending else "")

    def _resume(self, job: Json) -> Json | None:
        return None if job["spec"].get("suspend") else job_status.reset(job, deployment_status="")

    def _write(self, job: Json, new: Json) -> None:
        status = job_status.complete(job, new, now=self._api.stamp)
        if status is not None:
            self._api.set_status(RAYJOBS, job, status)

    def _tell(self, job: Json, reason: str, message: str, *, warning: bool = False) -> None:
        self._api.event(job, reason, message, source=SOURCE, warning=warning)


def _moved(job: Json, deployment: str) -> Json:
    return dict(job["status"], jobDeploymentStatus=deployment)


def _cluster_name(job: Json) -> str:
    return str((job["spec"].get("clusterSelector") or {}).get(job_checks.SELECTOR, ""))
