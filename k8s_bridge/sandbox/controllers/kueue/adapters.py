"""How Kueue sees the kinds of job: their pod sets, whether they run, how they start and stop.

Pure: `started` and `stopped` answer the object as it is to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import JOBS, JOBSETS, PODS, RAYCLUSTERS, Kind
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kueue.templates import TOPOLOGY_GATE
from k8s_bridge.sandbox.controllers.kueue.workload import pod_set

ADMISSION_GATE = "kueue.x-k8s.io/admission"
POD_FINALIZER = "kueue.x-k8s.io/managed"
_OWN_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid", "job-name")


class Adapter(Protocol):
    """One kind of job."""

    kind: Kind
    source: str
    finalizer: str

    def is_suspended(self, job: Json) -> bool:
        """Whether the job waits to be started."""

    def pod_sets(self, job: Json) -> list[Json]:
        """The spec.podSets of the job's Workload."""

    def is_active(self, job: Json) -> bool:
        """Whether pods of the job run, or count as running."""

    def finished(self, job: Json) -> tuple[str, str] | None:
        """(Succeeded or Failed, message) of a job that has ended."""

    def reclaimable(self, job: Json) -> list[Json]:
        """The status.reclaimablePods: pods that have ended for good while others run."""

    def started(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """The job resumed, with these pod templates by pod set."""

    def stopped(self, job: Json, templates: Mapping[str, Json]) -> Json | None:
        """The job suspended, with these pod templates by pod set; None when it can only be deleted."""


class _Suspendable:
    finalizer = ""

    def is_suspended(self, job: Json) -> bool:
        """By its spec."""
        return bool(job["spec"].get("suspend"))

    def reclaimable(self, job: Json) -> list[Json]:
        """None, of kinds that Kueue does not ask."""
        del job
        return []


class JobSetAdapter(_Suspendable):
    """A JobSet: one pod set for each replicated job."""

    kind = JOBSETS
    source = "jobset.x-k8s.io/jobset-kueue-controller"

    def pod_sets(self, job: Json) -> list[Json]:
        """One for each replicatedJob."""
        return [self._pod_set(r) for r in job["spec"]["replicatedJobs"]]

    def _pod_set(self, replicated: Json) -> Json:
        spec, replicas = replicated["template"]["spec"], replicated.get("replicas", 1)
        groups = {"subGroupCount": replicas, "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index"}
        return pod_set(replicated["name"], replicas * _at_a_time(spec), spec["template"], topology=groups)

    def is_active(self, job: Json) -> bool:
        """Any replicated job with an active Job."""
        status = (job.get("status") or {}).get("replicatedJobsStatus") or ()
        return any(r["active"] for r in status)

    def reclaimable(self, job: Json) -> list[Json]:
        """Whole Jobs that have succeeded."""
        status = (job.get("status") or {}).get("replicatedJobsStatus") or ()
        succeeded = {r["name"]: int(r["succeeded"]) for r in status}
        return [
            {"name": r["name"], "count": succeeded[r["name"]] * _at_a_time(r["template"]["spec"])}
            for r in job["spec"]["replicatedJobs"]
            if succeeded.get(r["name"])
        ]

    def finished(self, job: Json) -> tuple[str, str] | None:
        """By the terminal conditions."""
        return _ended(job, success="Completed")

    def started(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Resumed."""
        return self._with(job, templates, suspend=False)

    def stopped(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Suspended."""
        return self._with(job, templates, suspend=True)

    def _with(self, job: Json, templates: Mapping[str, Json], *, suspend: bool) -> Json:
        replicated = [
            r | {"template": _with_template(r["template"], templates.get(r["name"]))}
            for r in job["spec"]["replicatedJobs"]
        ]
        return job | {"spec": job["spec"] | {"suspend": suspend, "replicatedJobs": replicated}}


class JobAdapter(_Suspendable):
    """A plain Job: one pod set, "main"."""

    kind = JOBS
    source = "batch/job-kueue-controller"

    def pod_sets(self, job: Json) -> list[Json]:
        """The Job's pods."""
        template = job["spec"]["template"]
        metadata = dict(template.get("metadata") or {})
        labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k not in _OWN_LABELS}
        return [
            pod_set("main", _at_a_time(job["spec"]), template | {"metadata": metadata | {"labels": labels}})
        ]

    def is_active(self, job: Json) -> bool:
        """Any pod that has not ended."""
        return bool((job.get("status") or {}).get("active"))

    def reclaimable(self, job: Json) -> list[Json]:
        """When fewer pods are to succeed than may run at a time."""
        parallel = int(job["spec"].get("parallelism", 1))
        succeeded = int((job.get("status") or {}).get("succeeded") or 0)
        left = int(job["spec"].get("completions", parallel)) - succeeded
        if not succeeded or parallel == 1 or left >= parallel:
            return []
        return [{"name": "main", "count": parallel - left}]

    def finished(self, job: Json) -> tuple[str, str] | None:
        """By the terminal conditions."""
        return _ended(job, success="Complete")

    def started(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Resumed."""
        return self._with(job, templates, suspend=False)

    def stopped(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Suspended."""
        return self._with(job, templates, suspend=True)

    def _with(self, job: Json, templates: Mapping[str, Json], *, suspend: bool) -> Json:
        own = (job["spec"]["template"].get("metadata") or {}).get("labels") or {}
        kept = {k: v for k, v in own.items() if k in _OWN_LABELS}
        merged = _with_template(job, templates.get("main"))
        template = merged["spec"]["template"]
        metadata = template["metadata"] | {"labels": kept | (template["metadata"].get("labels") or {})}
        spec = merged["spec"] | {"suspend": suspend, "template": template | {"metadata": metadata}}
        return merged | {"spec": spec}


class RayClusterAdapter(_Suspendable):
    """A RayCluster: the pod set "head", and one for each worker group. It never finishes."""

    kind = RAYCLUSTERS
    source = "ray.io/raycluster-kueue-controller"

    def pod_sets(self, job: Json) -> list[Json]:
        """The head first."""
        spec = job["spec"]
        head = pod_set("head", 1, spec["headGroupSpec"]["template"], index_label="")
        return [head, *(self._pod_set(group) for group in spec.get("workerGroupSpecs") or ())]

    def _pod_set(self, group: Json) -> Json:
        count = int(group.get("replicas", 1)) * int(group.get("numOfHosts", 1))
        return pod_set(group["groupName"], count, group["template"], index_label="")

    def is_active(self, job: Json) -> bool:
        """Whether all its pods were ready once, and it was not suspended since."""
        return bool((job.get("status") or {}).get("state") == "ready")

    def finished(self, job: Json) -> tuple[str, str] | None:
        """Never."""
        del job
        return None

    def started(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Resumed."""
        return self._with(job, templates, suspend=False)

    def stopped(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Suspended."""
        return self._with(job, templates, suspend=True)

    def _with(self, job: Json, templates: Mapping[str, Json], *, suspend: bool) -> Json:
        spec = job["spec"]
        head = spec["headGroupSpec"]
        groups = [
            group | {"template": templates.get(group["groupName"], group["template"])}
            for group in spec.get("workerGroupSpecs") or ()
        ]
        new = {"headGroupSpec": head | {"template": templates.get("head", head["template"])}}
        if "workerGroupSpecs" in spec:
            new["workerGroupSpecs"] = groups
        return job | {"spec": spec | new | {"suspend": suspend}}


class PodAdapter:
    """A pod that is no part of a job of Kueue's. It is started by taking its gates, and never again."""

    kind = PODS
    source = "v1/pod-kueue-controller"
    finalizer = POD_FINALIZER

    def is_suspended(self, job: Json) -> bool:
        """By Kueue's gate."""
        return any(gate["name"] == ADMISSION_GATE for gate in job["spec"].get("schedulingGates") or ())

    def pod_sets(self, job: Json) -> list[Json]:
        """The pod."""
        return [pod_set("main", 1, {"spec": job["spec"]}, index_label="kueue.x-k8s.io/pod-group-pod-index")]

    def is_active(self, job: Json) -> bool:
        """Kueue never calls a single pod so."""
        del job
        return False

    def reclaimable(self, job: Json) -> list[Json]:
        """None: with its one pod the job has ended."""
        del job
        return []

    def finished(self, job: Json) -> tuple[str, str] | None:
        """By its phase."""
        phase = (job.get("status") or {}).get("phase")
        return (phase, "") if phase in ("Succeeded", "Failed") else None

    def started(self, job: Json, templates: Mapping[str, Json]) -> Json:
        """Without Kueue's gates, on the nodes of its flavor."""
        spec, admitted = dict(job["spec"]), templates["main"]
        others = [
            gate for gate in spec["schedulingGates"] if gate["name"] not in (ADMISSION_GATE, TOPOLOGY_GATE)
        ]
        spec.pop("schedulingGates")
        spec |= {"schedulingGates": others} if others else {}
        for field in ("nodeSelector", "tolerations"):
            if field in admitted["spec"]:
                spec[field] = admitted["spec"][field]
        meta, marks = job["metadata"], admitted["metadata"]
        labels = (meta.get("labels") or {}) | marks["labels"]
        notes = (meta.get("annotations") or {}) | marks["annotations"]
        return job | {"metadata": meta | {"labels": labels, "annotations": notes}, "spec": spec}

    def stopped(self, job: Json, templates: Mapping[str, Json]) -> None:
        """A pod has no second life."""
        del job, templates


def _at_a_time(spec: Json) -> int:
    """How many pods of a Job run together."""
    parallel = int(spec.get("parallelism", 1))
    return min(parallel, int(spec.get("completions", parallel)))


def _ended(job: Json, *, success: str) -> tuple[str, str] | None:
    for type_, verdict in ((success, "Succeeded"), ("Failed", "Failed")):
        condition = conditions.find(job, type_)
        if condition and condition["status"] == "True":
            return verdict, condition["message"]
    return None


def _with_template(owner: Json, template: Json | None) -> Json:
    """A job or job template with its pod template replaced."""
    if template is None:
        return owner
    return owner | {"spec": owner["spec"] | {"template": template}}
