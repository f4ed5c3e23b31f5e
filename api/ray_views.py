"""Lean frozen views of KubeRay's objects and of the pods that stand between KubeRay and Ray."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from api.views import Condition, Object, PodStatus, View


class RayJobSpec(View, frozen=True):
    """RayJob.spec. `backoff_limit` 0 is the default of KubeRay."""

    entrypoint: str = ""
    cluster_selector: dict[str, str] = msgspec.field(default_factory=dict)
    suspend: bool = False
    submission_mode: str = "K8sJobMode"
    backoff_limit: int | None = None
    shutdown_after_job_finishes: bool = False
    entrypoint_resources: str = ""
    runtime_env_yaml: str = msgspec.field(default="", name="runtimeEnvYAML")


class RayJobStatus(View, frozen=True):
    """RayJob.status. `job_id` is the submission id; `job_status` is Ray's word, "" until it knows the job."""

    job_id: str = ""
    job_status: str = ""
    job_deployment_status: str = ""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    end_time: datetime | None = None


class RayJob(Object, frozen=True):
    """ray.io RayJob."""

    GVR = ("ray.io", "v1", "rayjobs")
    KIND = "RayJob"

    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()


class Head(View, frozen=True):
    """RayCluster.status.head."""

    pod_i_p: str = msgspec.field(default="", name="podIP")
    service_name: str = ""


class RayClusterStatus(View, frozen=True):
    """RayCluster.status. `endpoints` are ports by name."""

    state: str = ""
    head: Head = Head()
    endpoints: dict[str, str] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class RayCluster(Object, frozen=True):
    """ray.io RayCluster. The spec is kept as it is: workers are made like its own."""

    GVR = ("ray.io", "v1", "rayclusters")
    KIND = "RayCluster"

    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: RayClusterStatus = RayClusterStatus()


class Gate(View, frozen=True):
    """Pod.spec.schedulingGates[]."""

    name: str = ""


class EnvVar(View, frozen=True):
    """containers[].env[], without where a value comes from."""

    name: str = ""
    value: str = ""


class SubmitterContainer(View, frozen=True):
    """Pod.spec.containers[] of a submitter."""

    env: tuple[EnvVar, ...] = ()


class SubmitterSpec(View, frozen=True):
    """Pod.spec of a submitter."""

    scheduling_gates: tuple[Gate, ...] = ()
    containers: tuple[SubmitterContainer, ...] = ()


class Submitter(Object, frozen=True):
    """The pod that gives a RayJob to Ray."""

    GVR = ("", "v1", "pods")
    KIND = "Pod"

    spec: SubmitterSpec = SubmitterSpec()
    status: PodStatus = PodStatus()
