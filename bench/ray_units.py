"""Units of the Ray bridge in every stage of a job's life, as KubeRay and Kueue would show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from api.ray_views import RayCluster, RayJob, Submitter
from api.v1alpha1.ray import RaySpec
from api.views import JobSet, Pod, Workload
from k8s_bridge.core.admission import admission_of
from k8s_bridge.ray import names
from k8s_bridge.ray.release import Release
from k8s_bridge.ray.request import request_of
from k8s_bridge.ray.unit import Key, Policy, Seen, State, Unit

NOW = 1_800_000_000.0
EARLY, LATE = "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z"
KEY = Key("ray", "job", "job-uid")
SHAPE = "shape"
SPEC = RaySpec.model_validate(
    {
        "localQueue": "lq",
        "managedClusters": ({"name": "shared"},),
        "poolMappings": (
            {"pool": "default", "workloadPriorityClass": "low", "maxWorkers": 8},
            {"pool": "urgent", "workloadPriorityClass": "high", "localQueue": "fast"},
        ),
    }
)


def job(
    *, notes: Mapping[str, str] | None = None, status: Mapping[str, Any] | None = None, **more: Any
) -> RayJob:
    """An inner RayJob; `notes` are the bridge's annotations without their prefix, `more` is spec."""
    spec = {"clusterSelector": {names.CLUSTER_SELECTOR: "shared"}, "entrypoint": "python3 x.py"}
    return msgspec.convert(
        {
            "metadata": {
                "name": KEY.name,
                "namespace": KEY.namespace,
                "uid": KEY.uid,
                "resourceVersion": "7",
                "annotations": {f"{names.PREFIX}/{key}": value for key, value in (notes or {}).items()},
            },
            "spec": spec | more,
            "status": {"jobId": "job-1", "jobDeploymentStatus": "Running"} | dict(status or {}),
        },
        RayJob,
    )


def cluster(*, up: bool = True, **spec: Any) -> RayCluster:
    """The shared cluster."""
    template = {"spec": {"containers": [{"name": "head", "image": "ray:1"}]}}
    head = {"podIP": "10.0.0.1", "serviceName": "shared-head-svc"} if up else {}
    return msgspec.convert(
        {
            "metadata": {"name": "shared", "namespace": KEY.namespace},
            "spec": {"headGroupSpec": {"template": template}} | spec,
            "status": {"state": "ready" if up else "", "head": head},
        },
        RayCluster,
    )


def jobset(*, workers: int = 2, ended: str = "", shape: str = SHAPE) -> JobSet:
    """The job's workers as they were asked for."""
    replicated = {"name": "w", "template": {"spec": {"parallelism": workers}}}
    return msgspec.convert(
        {
            "metadata": {
                "name": "ray-workers-job",
                "namespace": KEY.namespace,
                "uid": "jobset-uid",
                "annotations": {names.SHAPE: shape, names.TOKEN: "secret", names.RAY_JOB: KEY.name},
                "labels": {names.RAY_JOB_UID: KEY.uid, names.MANAGED_BY: names.MANAGER},
            },
            "spec": {"replicatedJobs": [replicated]},
            "status": {"terminalState": ended},
        },
        JobSet,
    )


def workload(*, admitted: str = "", evicted: bool = False, uid: str = "workload-uid") -> Workload:
    """Kueue's word: waiting, admitted since a time, or evicted."""
    conditions = []
    if admitted:
        conditions.append({"type": "Admitted", "status": "True", "lastTransitionTime": admitted})
    if evicted:
        told = {"reason": "Preempted", "message": "by somebody", "lastTransitionTime": LATE}
        conditions.append({"type": "Evicted", "status": "True", **told})
    return msgspec.convert(
        {
            "metadata": {"name": "workload", "namespace": KEY.namespace, "uid": uid},
            "status": {"conditions": conditions},
        },
        Workload,
    )


def worker(name: str, *, ready: bool = True, made: str = EARLY) -> Pod:
    """A worker's pod."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return msgspec.convert(
        {"metadata": {"name": name, "creationTimestamp": made}, "status": {"conditions": conditions}}, Pod
    )


def submitter(
    *, submission: str = "job-1", gates: tuple[str, ...] = (names.GATE,), phase: str = "Pending"
) -> Submitter:
    """KubeRay's submitter."""
    return msgspec.convert(
        {
            "metadata": {
                "name": "job-abc",
                "namespace": KEY.namespace,
                "uid": "pod-uid",
                "resourceVersion": "3",
            },
            "spec": {
                "schedulingGates": [{"name": gate} for gate in gates],
                "containers": [{"env": [{"name": names.SUBMISSION_ID, "value": submission}]}],
            },
            "status": {"phase": phase},
        },
        Submitter,
    )


PAIR = (worker("w-0"), worker("w-1"))
RELEASED = str(Release.on("job-1", admission=admission_of(workload(admitted=EARLY)), pods=PAIR))


def unit(**more: Any) -> Unit:
    """A held job for which nothing was asked yet, with `more` laid over it."""
    facts: dict[str, Any] = {
        "key": KEY,
        "job": job(),
        "managed": True,
        "cluster": cluster(),
        "shape": SHAPE,
        "submitters": (submitter(),),
        "policy": Policy(),
    } | more
    if facts["job"] is not None and "request" not in facts:
        facts["request"] = request_of(facts["job"], spec=SPEC)
    return Unit(**facts)


def waiting(**more: Any) -> Unit:
    """Asked for, without quota."""
    return unit(**({"jobset": jobset(), "workload": workload()} | more))


def admitted(**more: Any) -> Unit:
    """With quota; its workers have joined unless told otherwise."""
    return unit(**({"jobset": jobset(), "workload": workload(admitted=EARLY), "workers": PAIR} | more))


def let_go(
    *, notes: Mapping[str, str] | None = None, status: Mapping[str, Any] | None = None, **more: Any
) -> Unit:
    """Released on its workers; `status` is KubeRay's word since."""
    there = job(notes={"released": RELEASED} | dict(notes or {}), status=status)
    return admitted(**({"job": there, "submitters": (submitter(gates=(), phase="Running"),)} | more))


def seen(state: State, *, seconds: float) -> Seen:
    """It has been in a state for so long."""
    return Seen(state=state, since=NOW - seconds)
