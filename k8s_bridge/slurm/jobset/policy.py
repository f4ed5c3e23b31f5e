"""What a JobSet is made from besides the job and its layout: one frozen value per partition and revision."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.v1alpha1.partition import PartitionMapping, Topology
from api.v1alpha1.slurmd import Slurmd
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core.rendering import Template, compile_tree

_KILL_WAIT = 300
"""Seconds from a time limit until its processes are gone for sure: KillWait, epilogs, node clean-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A Slurm cluster in names and labels."""

    name: str = ""
    """ClusterName, "" where Slurm does not tell."""
    key: str = ""
    """Part of JobSet names when one namespace serves more than one cluster, else ""."""


UNNAMED = Cluster()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything of a WorkloadMixing that a JobSet depends on."""

    namespace: str
    mixing: str
    """Name of the WorkloadMixing."""
    queue: str
    priority_class: str
    slurmd: Slurmd
    template: Template
    """Of `{"podTemplate": …, "claims": {name: resourceClaimTemplateName}}`."""
    cluster: Cluster = UNNAMED
    node_selectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Slurm feature -> node labels that pods of such a job require."""
    required_topology: str = ""
    """Topology level of jobs with --switches; "" where the queue's flavors have no topology."""
    preferred_topology: str = ""
    drain_first: bool = False
    """slurmd outlives the order to end by what its pod's grace allows, while jobs run on it."""
    deadline_slack: int = _KILL_WAIT
    """Seconds that pods may live beyond the job's time limit: registering, starting, ending."""
    owners: tuple[Mapping[str, Any], ...] = ()
    """metadata.ownerReferences of the JobSet."""
    digest: str = ""
    """Changes with everything in the spec that a JobSet is made from: those that wait are made anew then."""


def policy_of(
    mixing: WorkloadMixing,
    *,
    partition: PartitionMapping,
    queue: str,
    priority_class: str,
    cluster: Cluster = UNNAMED,
) -> Policy:
    """The policy of one partition; `queue` and `priority_class` as its queue rules gave them.

    TemplateError when the partition's pod template cannot be compiled.
    """
    spec = mixing.spec
    topology = partition.topology or spec.topology
    waiting = spec.provision_timeout + spec.start_timeout
    return Policy(
        namespace=mixing.metadata.namespace,
        mixing=mixing.metadata.name,
        queue=queue,
        priority_class=priority_class,
        slurmd=spec.slurmd,
        template=compile_template(partition.pod_template, slurmd=spec.slurmd),
        cluster=cluster,
        node_selectors={feature.name: feature.node_selector for feature in partition.features},
        required_topology=topology.required_level,
        preferred_topology=topology.preferred_level,
        deadline_slack=int(waiting.total_seconds()) + _KILL_WAIT,
        drain_first=spec.drain_on_preemption,
        digest=_digest(
            spec.slurmd, partition, topology, (queue, priority_class, "drain" * spec.drain_on_preemption)
        ),
    )


def _digest(slurmd: Slurmd, partition: PartitionMapping, topology: Topology, words: tuple[str, ...]) -> str:
    """Sixteen hex digits; a field that is new in a later version and not set changes nothing."""
    made_of = (
        slurmd.model_dump_json(exclude_defaults=True),
        topology.model_dump_json(exclude_defaults=True),
        partition.model_dump_json(include={"pod_template", "features"}, exclude_defaults=True),
        *filter(None, words),
    )
    return hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16]


def compile_template(pod_template: Mapping[str, Any], *, slurmd: Slurmd) -> Template:
    """The operator's part of a pod, compiled once; claim template names are templates as well."""
    claims = {claim.name: claim.resource_claim_template_name for claim in slurmd.resource_claims}
    return compile_tree({"podTemplate": pod_template, "claims": claims})
