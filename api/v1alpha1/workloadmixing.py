"""WorkloadMixing itself: one resource, one mixing of a Slurm cluster (and Ray pools) with Kueue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from api.v1alpha1.base import ListMap, Model, Name
from api.v1alpha1.partition import PartitionMapping, Topology
from api.v1alpha1.policy import JobPolicy
from api.v1alpha1.ray import RaySpec
from api.v1alpha1.slurm import SlurmConnection
from api.v1alpha1.slurmd import Slurmd
from api.v1alpha1.status import WorkloadMixingStatus

GROUP = "k8s-bridge.x-k8s.io"
VERSION = "v1alpha1"
API_VERSION: Final = "k8s-bridge.x-k8s.io/v1alpha1"
KIND: Final = "WorkloadMixing"
PLURAL = "workloadmixings"


class Metadata(Model):
    """The part of metadata that is read."""

    model_config = ConfigDict(extra="ignore")

    name: Name
    """Name."""
    namespace: str = ""
    """Namespace; also where JobSets are made."""
    uid: str = ""
    """uid; "" when it came from a file."""
    generation: int = 0
    """Counts changes of the spec; 0 when it came from a file."""
    resource_version: str = ""
    """Version of the whole object."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations."""
    creation_timestamp: datetime | None = None
    """When it was created: of two that conflict, the older wins."""
    deletion_timestamp: datetime | None = None
    """Set when deletion has begun."""
    finalizers: tuple[str, ...] = ()
    """Finalizers."""


class WorkloadMixingSpec(JobPolicy, SlurmConnection):
    """What is mixed, and how."""

    local_queue: Name
    """Kueue LocalQueue of all JobSets, unless a partition or rule names another."""
    partition_mappings: Annotated[
        tuple[PartitionMapping, ...], Field(min_length=1, max_length=256), ListMap("partitionName")
    ]
    """The managed Slurm partitions. Jobs of other partitions are left alone."""
    slurmd: Slurmd
    """The pods that become dynamic Slurm nodes."""
    topology: Topology = Topology()
    """Topology-Aware Scheduling of partitions that do not say otherwise."""
    ray: RaySpec | None = None
    """Shared RayClusters and pools. Absent: the Ray bridge does nothing here."""


class WorkloadMixing(Model):
    """Mixes a Slurm cluster's jobs with everything else that Kueue admits in this namespace."""

    api_version: Literal["k8s-bridge.x-k8s.io/v1alpha1"] = API_VERSION
    """Always k8s-bridge.x-k8s.io/v1alpha1."""
    kind: Literal["WorkloadMixing"] = KIND
    """Always WorkloadMixing."""
    metadata: Metadata
    """Name, namespace and the like."""
    spec: WorkloadMixingSpec
    """What is mixed, and how."""
    status: WorkloadMixingStatus = WorkloadMixingStatus()
    """What the bridge last saw; written by the bridge alone."""
