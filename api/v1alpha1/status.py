"""What the bridge reports. Unknown fields are ignored on reading: a newer version may have written them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from api.v1alpha1.base import ListMap, Model, Name

Count = Annotated[int, Field(ge=0, le=2_147_483_647)]


class ConditionType(StrEnum):
    """Conditions that the bridge owns; others are left alone."""

    READY = "Ready"
    SLURM_REACHABLE = "SlurmReachable"
    TOKEN_VALID = "TokenValid"  # noqa: S105  # a condition's name
    QUEUES_VALID = "QueuesValid"
    PRIORITY_CLASSES_VALID = "PriorityClassesValid"
    TOPOLOGY_VALID = "TopologyValid"
    TEMPLATE_VALID = "TemplateValid"
    CONFLICTING = "Conflicting"
    RAY_READY = "RayReady"


class Reported(Model):
    """Base of everything under status."""

    model_config = ConfigDict(extra="ignore")


class Condition(Reported):
    """A condition as Kubernetes defines it."""

    type: Annotated[str, Field(min_length=1, max_length=316)]
    """Name of the condition."""
    status: Literal["True", "False", "Unknown"]
    """True, False or Unknown."""
    reason: Annotated[
        str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    ]
    """One CamelCase word for programs."""
    message: Annotated[str, Field(max_length=32_768)]
    """A sentence for people."""
    last_transition_time: datetime
    """When the status last changed."""
    observed_generation: Annotated[int, Field(ge=0)] = 0
    """Generation of the spec that this was found for."""


class Counts(Reported):
    """Jobs by state, and nodes."""

    held: Count = 0
    """Held jobs without a JobSet yet."""
    waiting: Count = 0
    """Jobs whose JobSet waits for quota."""
    pending: Count = 0
    """held + waiting: everything that no quota is used for."""
    admitted: Count = 0
    """Jobs with quota that do not run yet."""
    running: Count = 0
    """Running jobs."""
    requeued: Count = 0
    """Jobs that eviction or loss sent back to the queue at least once."""
    failed: Count = 0
    """Failed jobs whose JobSet is still there, and refused jobs."""
    nodes: Count = 0
    """Registered dynamic nodes that belong to a job."""


class PartitionStatus(Counts):
    """Jobs by state, and nodes, of one partition."""

    partition_name: Name
    """Slurm partition."""


class WorkloadMixingStatus(Reported):
    """What the bridge last saw."""

    observed_generation: Annotated[int, Field(ge=0)] = 0
    """Generation of the spec that is in force."""
    conditions: Annotated[tuple[Condition, ...], Field(max_length=64), ListMap("type")] = ()
    """Ready, and what it is made of."""
    counts: Counts = Counts()
    """Jobs by state over all partitions, and nodes."""
    partitions: Annotated[tuple[PartitionStatus, ...], Field(max_length=256), ListMap("partitionName")] = ()
    """Counts of each managed partition."""
    slurm_version: Annotated[str, Field(max_length=64)] = ""
    """Release of slurmctld."""
    slurm_api_version: Annotated[str, Field(max_length=16)] = ""
    """Version of the REST API in use."""
    slurm_cluster_name: Annotated[str, Field(max_length=253)] = ""
    """ClusterName of slurmctld."""
    last_successful_poll: datetime | None = None
    """When Slurm last answered in full."""
    token_expires: datetime | None = None
    """When the token in use expires; absent when it does not say."""
