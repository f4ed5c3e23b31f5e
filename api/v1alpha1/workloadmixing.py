"""WorkloadMixing itself: one resource, one mixing of a Slurm cluster (and Ray pools) with Kueue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Final, Literal

from pydantic import ConfigDict, Field

from api.v1alpha1.base import ListMap, Model, Name, Raw, Rule
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


_OF_SLURM = ("slurmRestURL", "localQueue", "partitionMappings", "slurmd")
_NO_SLURMD: Final = Slurmd.model_construct(image="", conf_server="", auth_secret_name="")


def _whole(field: str) -> Rule:
    """A Slurm cluster is named in full, or, beside `ray`, not at all."""
    others = [other for other in _OF_SLURM if other != field]

    def holds(raw: Raw) -> bool:
        return field in raw or ("ray" in raw and not any(other in raw for other in others))

    none = " && ".join(f"!has(self.{other})" for other in others)
    return Rule(
        cel=f"has(self.{field}) || (has(self.ray) && {none})",
        holds=holds,
        field=field,
        why="is required",
        fix=f"add it, or leave all of {', '.join(_OF_SLURM)} out and give ray: then there is no Slurm",
        reason="FieldValueRequired",
    )


STAYS: Final = Rule(
    cel="!has(oldSelf.slurmRestURL) || has(self.slurmRestURL)",
    holds=lambda _: True,  # a document says nothing of the one before it
    field="slurmRestURL",
    why="cannot be taken out",
    fix="delete the WorkloadMixing, which gives back what Slurm jobs have, and make one for Ray alone",
)


class WorkloadMixingSpec(JobPolicy, SlurmConnection):
    """What is mixed, and how."""

    model_config = ConfigDict(
        json_schema_extra={"if": {"not": {"required": ["ray"]}}, "then": {"required": [*_OF_SLURM]}}
    )
    RULES: ClassVar[tuple[Rule, ...]] = (*map(_whole, _OF_SLURM), STAYS, *SlurmConnection.RULES)

    local_queue: Name = ""
    """Kueue LocalQueue of all JobSets, unless a partition or rule names another."""
    partition_mappings: Annotated[
        tuple[PartitionMapping, ...], Field(min_length=1, max_length=256), ListMap("partitionName")
    ] = ()
    """The managed Slurm partitions. Jobs of other partitions are left alone."""
    slurmd: Slurmd = Field(default_factory=lambda: _NO_SLURMD)
    """The pods that become dynamic Slurm nodes."""
    topology: Topology = Topology()
    """Topology-Aware Scheduling of partitions that do not say otherwise."""
    ray: RaySpec | None = None
    """Shared RayClusters and pools. Absent: the Ray bridge does nothing here."""

    @property
    def has_slurm(self) -> bool:
        """Whether there is a Slurm cluster: of Ray alone, all that names one is empty."""
        return bool(self.slurm_rest_url)


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
