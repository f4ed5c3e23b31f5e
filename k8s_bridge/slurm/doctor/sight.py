"""What was seen: plain data between the looking, which asks, and the checks, which judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import AdmissionCheck, ClusterQueue, Condition, LocalQueue, Topology, WorkloadPriorityClass
from k8s_bridge.runtime.doctor.kinds import Served
from k8s_bridge.runtime.doctor.rights import Right
from k8s_bridge.runtime.doctor.verdict import Hidden, Seen
from k8s_bridge.runtime.doctor.views import Deployment, KueueConfig, Namespace, QueueDetails
from k8s_bridge.runtime.gates import Gates
from k8s_bridge.slurm.client.results import Partition
from k8s_bridge.slurm.model import Ping


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSight:
    """The cluster as a whole."""

    served: Served
    rights: Mapping[Right, bool | Hidden]
    whose: str
    """Whose rights these are; "" when they are those of whoever looks, who need not be the bridge."""
    deployments: tuple[Deployment, ...] | Hidden
    kueue: Seen[KueueConfig]
    namespaces: Mapping[str, Seen[Namespace]]
    """Those where WorkloadMixings are looked for."""
    mixings: int
    """How many WorkloadMixings were found in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingSight:
    """One WorkloadMixing and what its spec names; names are keys."""

    mixing: WorkloadMixing
    conditions: tuple[Condition, ...] | None
    """None: it is a file, and has no status."""
    namespace: Seen[Namespace]
    local_queues: Mapping[str, Seen[LocalQueue]] = field(default_factory=dict)
    cluster_queues: Mapping[str, Seen[ClusterQueue]] = field(default_factory=dict)
    details: Mapping[str, Seen[QueueDetails]] = field(default_factory=dict)
    classes: Mapping[str, Seen[WorkloadPriorityClass]] = field(default_factory=dict)
    checks: tuple[AdmissionCheck, ...] = ()
    flavors: Mapping[str, str] = field(default_factory=dict)
    """The Topology ("" for none) of each ResourceFlavor."""
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    objects: Mapping[tuple[str, str], Seen[frozenset[str]]] = field(default_factory=dict)
    """Keys of each Secret and ConfigMap that is named, by (kind, name)."""
    gates: Gates | None = None
    """What the running bridge was given; None when that is not known."""
    rivals: Mapping[str, str] = field(default_factory=dict)
    """Partitions that another WorkloadMixing of the same slurmrestd manages too, each with which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSight:
    """Slurm as one WorkloadMixing reaches it. The first of `trouble` that is set ended the looking."""

    mixing: WorkloadMixing
    now: float
    """Unix seconds on this machine."""
    trouble: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """(reason, text) by what was tried: credentials, ping, token."""
    ping: Ping | None = None
    user: str = ""
    """Whom the token is for by its own claim."""
    expires: float | None = None
    partitions: tuple[Partition, ...] = ()
    controller_time: float | None = None
    """Slurmctld's clock (Unix seconds) when it was asked at `now`."""
    conf: Seen[Mapping[str, str]] = None
    """`scontrol show config`; keys in lower case."""
