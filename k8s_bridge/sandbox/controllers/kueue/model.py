"""Kueue's world as frozen facts, parsed from API objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.quantity import Amounts, parse

FlavorResource = tuple[str, str]
Usage = Mapping[FlavorResource, int]


class Policy(StrEnum):
    """Who may be preempted."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL = "LowerOrNewerEqualPriority"
    ANY = "Any"


class StopPolicy(StrEnum):
    """Whether a queue takes new Workloads and keeps its old ones."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class Strategy(StrEnum):
    """What happens behind a Workload that does not fit."""

    BEST_EFFORT = "BestEffortFIFO"
    STRICT = "StrictFIFO"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The quota of one resource in one flavor; None: no limit."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Resources that get their flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    """The spec of a ClusterQueue."""

    name: str
    cohort: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    within: Policy = Policy.NEVER
    reclaim: Policy = Policy.NEVER
    stop: StopPolicy = StopPolicy.NONE
    strategy: Strategy = Strategy.BEST_EFFORT
    checks: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The queue's place in the hierarchy, as messages print it."""
        return f"/{self.cohort}/{self.name}" if self.cohort else f"/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """The spec of a ResourceFlavor."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    tolerations: tuple[Json, ...] = ()
    topology: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRequest:
    """Where the pods of a pod set must (`required`) or should (`preferred`) be together; "" says nothing."""

    required: str = ""
    preferred: str = ""
    unconstrained: bool = False

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred or self.unconstrained)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """A number of equal pods, and what one of them asks for."""

    name: str
    count: int
    unit: Amounts
    spec: Mapping[str, Any] = field(default_factory=dict)
    topology: TopologyRequest = field(default_factory=TopologyRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What queueing and preemption need to know of a Workload. `since` (epoch seconds) orders equals."""

    key: Key
    uid: str
    job_uid: str
    priority: int
    since: float
    queue: Key
    pod_sets: tuple[PodSet, ...]

    @property
    def shape(self) -> tuple[object, ...]:
        """Equal for Workloads that fit or do not fit together."""
        return tuple(
            (s.name, s.count, tuple(sorted(s.unit.items())), s.topology, str(s.spec.get("nodeSelector")))
            for s in self.pod_sets
        )


def cluster_queue(obj: Json) -> ClusterQueue:
    """The model of a ClusterQueue object."""
    spec = obj.get("spec") or {}
    groups = spec.get("resourceGroups") or ()
    preemption = spec.get("preemption") or {}
    checks = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    return ClusterQueue(
        name=obj["metadata"]["name"],
        cohort=spec.get("cohortName") or spec.get("cohort") or "",
        groups=tuple(
            ResourceGroup(
                resources=tuple(g.get("coveredResources") or ()),
                flavors=tuple(f["name"] for f in g.get("flavors") or ()),
            )
            for g in groups
        ),
        quotas={
            (f["name"], r["name"]): _quota(r)
            for g in groups
            for f in g.get("flavors") or ()
            for r in f.get("resources") or ()
        },
        within=Policy(preemption.get("withinClusterQueue", "Never")),
        reclaim=Policy(preemption.get("reclaimWithinCohort", "Never")),
        stop=StopPolicy(spec.get("stopPolicy") or "None"),
        strategy=Strategy(spec.get("queueingStrategy") or "BestEffortFIFO"),
        checks=tuple(c["name"] for c in checks) or tuple(spec.get("admissionChecks") or ()),
    )


def _quota(resource: Json) -> Quota:
    def amount(key: str) -> int | None:
        return parse(resource["name"], str(resource[key])) if resource.get(key) is not None else None

    return Quota(
        nominal=amount("nominalQuota") or 0,
        borrowing=amount("borrowingLimit"),
        lending=amount("lendingLimit"),
    )


def flavor(obj: Json) -> Flavor:
    """The model of a ResourceFlavor object."""
    spec = obj.get("spec") or {}
    return Flavor(
        name=obj["metadata"]["name"],
        labels=spec.get("nodeLabels") or {},
        taints=tuple(spec.get("nodeTaints") or ()),
        tolerations=tuple(spec.get("tolerations") or ()),
        topology=spec.get("topologyName") or "",
    )
