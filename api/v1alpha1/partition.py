"""Which Slurm partitions are managed, and what their jobs become in Kueue."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from api.v1alpha1.base import (
    LabelKey,
    Labels,
    ListMap,
    Model,
    Name,
    OptionalName,
    PodTemplate,
    Raw,
    Rule,
    given,
)
from api.v1alpha1.quantity import Memory


class Topology(Model):
    """Slurm's topology requests in terms of Kueue's Topology-Aware Scheduling.

    Levels are node label keys of a Topology; set them only where the queue's flavors have one.
    """

    required_level: LabelKey = ""
    """Level that all pods of a job with --switches must share. Empty: --switches is not translated."""
    preferred_level: LabelKey = ""
    """Level that the pods of every other job should share. Empty: no preference."""


class NodeShape(Model):
    """The virtual node that jobs without a node count (`-n 64`) are packed into."""

    cpus: Annotated[int, Field(ge=1, le=4096)]
    """CPUs of one virtual node."""
    memory: Memory | None = None
    """Memory of one virtual node. Absent: what the job asks for its tasks."""
    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """GPUs of one virtual node."""


def _leads_somewhere(raw: Raw) -> bool:
    return given(raw, "localQueue", "workloadPriorityClass") > 0


class QueueRule(Model):
    """Sends some of a partition's jobs elsewhere. All fields that are given must match, exactly."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="(has(self.localQueue) && self.localQueue != '')"
            " || (has(self.workloadPriorityClass) && self.workloadPriorityClass != '')",
            holds=_leads_somewhere,
            field="",
            why="changes nothing",
            fix="set localQueue or workloadPriorityClass",
        ),
    )

    account: OptionalName = ""
    """Slurm account. Empty: any."""
    qos: OptionalName = ""
    """Slurm QOS. Empty: any."""
    user: OptionalName = ""
    """User name. Empty: any."""
    wckey: OptionalName = ""
    """Workload characterization key. Empty: any."""
    local_queue: OptionalName = ""
    """LocalQueue of matching jobs. Empty: the partition's."""
    workload_priority_class: OptionalName = ""
    """WorkloadPriorityClass of matching jobs. Empty: the partition's."""


class FeatureMapping(Model):
    """What a Slurm feature (`-C`) means for the pods."""

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:=+-]+$")]
    """The feature as users write it."""
    node_selector: Labels = Field(default_factory=dict)
    """Node labels that pods of such a job require; Kueue picks a ResourceFlavor that has them."""


class PartitionMapping(Model):
    """One managed partition."""

    partition_name: Name
    """Slurm partition."""
    workload_priority_class: Name
    """WorkloadPriorityClass of the partition's jobs."""
    local_queue: OptionalName = ""
    """LocalQueue of the partition's jobs. Empty: the spec's."""
    queue_rules: Annotated[tuple[QueueRule, ...], Field(max_length=64)] = ()
    """Exceptions by account, QOS, user or WCKey; the first match wins."""
    max_in_flight: Annotated[int, Field(ge=1, le=10_000)] = 200
    """JobSets that may wait for quota at a time, per queue, without those that gave it back for a while."""
    pod_template: PodTemplate = Field(default_factory=dict)
    """Pod template that slurmd pods start from. Leaf strings are Jinja2; fields that the bridge owns win."""
    node_shape: NodeShape | None = None
    """Virtual node for jobs without a node count. Absent: one pod for as much as possible."""
    topology: Topology | None = None
    """Replaces the spec's topology for this partition."""
    exclusive: bool = False
    """Treats each job as if it were submitted with --exclusive."""
    features: Annotated[tuple[FeatureMapping, ...], Field(max_length=64), ListMap("name")] = ()
    """Slurm features that stand for node labels."""
