"""What was seen: plain data between the looking, which asks, and the checks, which judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from api.ray_views import RayCluster
from api.v1alpha1.ray import RaySpec
from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import AdmissionCheck, ClusterQueue, Condition, LocalQueue, Topology, WorkloadPriorityClass
from k8s_bridge.runtime.doctor.kinds import Served
from k8s_bridge.runtime.doctor.rights import Right
from k8s_bridge.runtime.doctor.verdict import Hidden, Seen
from k8s_bridge.runtime.doctor.views import Deployment, Namespace


class Answer(Enum):
    """What became of a question to a head."""

    FINE = auto()
    SILENT = auto()
    """Nothing answers there, or nothing that makes sense."""
    TOKEN_REFUSED = auto()
    TOKEN_MISSING = auto()
    """The Secret with its token is not there, or has none."""
    TOKEN_HIDDEN = auto()
    """Whoever looks may not read the Secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSight:
    """A head that was asked; `text` is what it, or who stood between, said."""

    answer: Answer
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSight:
    """The cluster as a whole."""

    served: Served
    deployments: tuple[Deployment, ...] | Hidden
    rights: Mapping[Right, bool | Hidden]
    whose: str
    """Whose rights these are; "" when they are those of whoever looks, who need not be the bridge."""
    where: tuple[str, ...]
    """Namespaces that were looked at."""
    mixings: int
    """How many WorkloadMixings with a `ray` section were found in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySight:
    """One WorkloadMixing with a `ray` section, and what that names; names are keys."""

    mixing: WorkloadMixing
    spec: RaySpec
    conditions: tuple[Condition, ...] | None
    """None: it is a file, and has no status."""
    within: bool
    """Whether it was looked at from a pod: heads are not reached from elsewhere."""
    namespace: Seen[Namespace]
    held: bool | Hidden
    """Whether the API server would hold a job; Hidden: it would not say."""
    clusters: Mapping[str, Seen[RayCluster]] = field(default_factory=dict)
    heads: Mapping[str, HeadSight] = field(default_factory=dict)
    """Of those clusters that have one."""
    local_queues: Mapping[str, Seen[LocalQueue]] = field(default_factory=dict)
    cluster_queues: Mapping[str, Seen[ClusterQueue]] = field(default_factory=dict)
    classes: Mapping[str, Seen[WorkloadPriorityClass]] = field(default_factory=dict)
    checks: tuple[AdmissionCheck, ...] = ()
    flavors: Mapping[str, str] = field(default_factory=dict)
    """The Topology ("" for none) of each ResourceFlavor."""
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    rivals: Mapping[str, str] = field(default_factory=dict)
    """Shared clusters that another WorkloadMixing of the namespace manages too, each with which."""
