"""The Ray bridge's section: shared RayClusters, pools, and the workers that inner RayJobs get."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from api.v1alpha1.base import (
    NVIDIA_GPU,
    LabelKey,
    ListMap,
    Model,
    Name,
    OptionalName,
    PodTemplate,
    ResourceName,
    gpu_resource_or_default,
)
from api.v1alpha1.duration import Duration


def _or_one(value: float) -> float:
    return value or 1


def _or_gibibyte(value: int) -> int:
    return value or 1024


class Confinement(StrEnum):
    """How far a job is kept on its own workers. Cooperation, not a security boundary."""

    NONE = "none"
    DRIVER = "driver"
    LABELS = "labels"


class DriverPlacement(StrEnum):
    """Where a job's driver runs."""

    WORKER = "worker"
    HEAD = "head"


class LeakAudit(StrEnum):
    """What happens to work that is found on another job's workers."""

    OFF = "off"
    REPORT = "report"
    KILL = "kill"


class ManagedCluster(Model):
    """A shared RayCluster."""

    name: Name
    """Name of the RayCluster, as jobs give it in clusterSelector."""
    head_address: Annotated[str, Field(max_length=512)] = ""
    """host:port of the head's GCS. Empty: taken from the RayCluster."""
    worker_group: OptionalName = ""
    """Worker group that workers are made like. Empty: the first."""
    pod_template: PodTemplate = Field(default_factory=dict)
    """Fields of a pod template laid over what is taken from the RayCluster. Leaf strings are Jinja2."""


class PoolMapping(Model):
    """A pool that jobs name in the annotation ray-bridge.x-k8s.io/pool."""

    pool: Name
    """Name of the pool."""
    workload_priority_class: Name
    """WorkloadPriorityClass of the pool's workers."""
    local_queue: OptionalName = ""
    """LocalQueue of the pool's workers; the job's annotation wins over it. Empty: the section's."""
    pod_template: PodTemplate = Field(default_factory=dict)
    """Fields of a pod template laid over the cluster's. Leaf strings are Jinja2."""
    max_workers: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Most workers that one job may ask for. 0: no limit."""
    allowed_users: Annotated[tuple[Name, ...], Field(max_length=256)] = ()
    """Kubernetes users that may use the pool. With allowedGroups also empty: everyone."""
    allowed_groups: Annotated[tuple[Name, ...], Field(max_length=256)] = ()
    """Kubernetes groups that may use the pool."""


class RayWorker(Model):
    """Workers of jobs that do not say otherwise."""

    image: Annotated[str, Field(max_length=512)] = ""
    """Image of the workers. Empty: the RayCluster's."""
    gpu_resource_name: Annotated[ResourceName, AfterValidator(gpu_resource_or_default)] = NVIDIA_GPU
    """Extended resource that GPUs are asked for as. Empty: the default."""
    default_workers: Annotated[int, Field(ge=0, le=100_000), AfterValidator(_or_one)] = 1
    """Workers of a job without the annotation. 0: the default."""
    default_cpus: Annotated[float, Field(ge=0, le=4096), AfterValidator(_or_one)] = 1.0
    """CPUs of one worker; fractions are allowed. 0: the default."""
    default_memory_mb: Annotated[int, Field(ge=0, le=67_108_864), AfterValidator(_or_gibibyte)] = 1024
    """MiB of one worker. 0: the default."""
    privileged: bool = False
    """Runs the workers privileged; Ray does not need it."""
    preferred_topology: LabelKey = ""
    """Topology level that a job's workers should share. Empty: no preference."""


class RaySpec(Model):
    """What the Ray bridge manages in this namespace."""

    local_queue: Name
    """LocalQueue of worker JobSets, unless the pool or the job names another."""
    managed_clusters: Annotated[
        tuple[ManagedCluster, ...], Field(min_length=1, max_length=64), ListMap("name")
    ]
    """Shared RayClusters whose jobs are admitted one by one."""
    pool_mappings: Annotated[tuple[PoolMapping, ...], Field(min_length=1, max_length=256), ListMap("pool")]
    """Pools that jobs may name."""
    worker: RayWorker = RayWorker()
    """Workers of jobs that do not say otherwise."""
    confinement: Confinement = Confinement.LABELS
    """none, driver (only the driver is pinned) or labels (tasks, actors and placement groups as well)."""
    driver_placement: DriverPlacement = DriverPlacement.WORKER
    """Whether the driver runs on the job's first worker or on the head."""
    leak_audit: LeakAudit = LeakAudit.REPORT
    """Whether work on another job's workers is ignored, reported or ended."""
    worker_retries: Annotated[int, Field(ge=0, le=100)] = 3
    """How often failed workers are made again before the job is given up."""
    max_requeues: Annotated[int, Field(ge=0, le=100)] = 3
    """How often a preempted job runs again. A job's own annotation may lower it."""
    ttl_after_finished: Annotated[timedelta, Duration(maximum="30d")] = timedelta()
    """How long finished inner RayJobs are kept. 0: for good, as KubeRay does."""
