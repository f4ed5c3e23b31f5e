"""One slot of the model of a job array: its JobSet, Workload, pods and nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from api.views import (
    Condition,
    JobSet,
    JobSetSpec,
    JobTemplate,
    JobTemplateSpec,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodStatus,
    ReplicatedJob,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from k8s_bridge.core import naming
from k8s_bridge.core.effects import Patch
from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.model import Node

GRACE = 30.0
"""Seconds that a pod has to end in."""


@dataclass
class SlotWorld:
    """Pods: name -> Running or Terminating."""

    jobset: JobSet | None = None
    workload_uid: str = ""
    admitted: bool = False
    evicted: bool = False
    active: bool = True
    pods: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    """name -> IDLE, ALLOCATED or DOWN."""
    drained: set[str] = field(default_factory=set)
    cordoned: set[str] = field(default_factory=set)
    """Pods under which the machine takes no new ones."""
    ends: dict[str, float] = field(default_factory=dict)
    """When a pod that is terminating ends at the latest."""
    registered: set[str] = field(default_factory=set)
    seen_evicted: set[str] = field(default_factory=set)
    """Nodes over which the bridge has passed while Kueue wanted the capacity back."""

    @property
    def there(self) -> bool:
        """Something of it is left."""
        return self.jobset is not None or bool(self.nodes)

    @property
    def good(self) -> bool:
        """It has quota that nobody wants back, and all of its pods live."""
        live = {name for name, phase in self.pods.items() if phase == "Running"}
        return self.admitted and not self.evicted and set(self.nodes) <= live

    def workload(self) -> Workload | None:
        if self.jobset is None or not self.workload_uid:
            return None
        conditions = [
            _condition("QuotaReserved", "Reserved" if self.admitted else "Pending", on=self.admitted)
        ]
        conditions += [_condition("Admitted", "Admitted")] if self.admitted else []
        conditions += [_condition("Evicted", "Preempted")] if self.evicted else []
        owner = OwnerReference(uid=self.jobset.metadata.uid)
        return Workload(
            metadata=ObjectMeta(name="w", namespace="ns", uid=self.workload_uid, owner_references=(owner,)),
            spec=WorkloadSpec(queue_name="lq", active=self.active),
            status=WorkloadStatus(conditions=tuple(conditions)),
        )

    def pod_rows(self) -> tuple[Pod, ...]:
        return tuple(map(self._pod, sorted(self.pods))) if self.jobset else ()

    def node_rows(self) -> tuple[Node, ...]:
        drain = {name: ["DRAIN"] if name in self.drained else [] for name in self.nodes}
        return tuple(
            Node(name=name, states=frozenset({state, *drain[name]}), reason="k8s-bridge: …")
            for name, state in sorted(self.nodes.items())
        )

    def create(self, *, name: str, uid: str, identity: str, width: int) -> None:
        template = JobTemplate(spec=JobTemplateSpec(parallelism=width))
        self.jobset = JobSet(
            metadata=ObjectMeta(
                name=name,
                namespace="ns",
                uid=uid,
                annotations={naming.IDENTITY: identity, naming.SHAPE: "s"},
            ),
            spec=JobSetSpec(suspend=True, replicated_jobs=(ReplicatedJob(name="g0", template=template),)),
        )

    def suspend(self, *, on: bool) -> None:
        assert self.jobset
        spec = msgspec.structs.replace(self.jobset.spec, suspend=on)
        self.jobset = msgspec.structs.replace(self.jobset, spec=spec)

    def patch(self, effect: Patch) -> None:
        if effect.ref.kind == "Workload":
            if effect.ref.uid != self.workload_uid:
                raise Conflict("another Workload")
            self.active = effect.patch["spec"]["active"]
            return
        if self.jobset is None or effect.ref.uid != self.jobset.metadata.uid:
            raise Conflict("another JobSet")
        annotations = {**self.jobset.metadata.annotations, **effect.patch["metadata"]["annotations"]}
        kept = {key: value for key, value in annotations.items() if value is not None}
        meta = msgspec.structs.replace(self.jobset.metadata, annotations=kept)
        self.jobset = msgspec.structs.replace(self.jobset, metadata=meta)

    def delete(self, *, now: float) -> None:
        self.jobset, self.workload_uid, self.admitted, self.evicted = None, "", False, False
        self.terminate(self.pods, now=now)

    def terminate(self, names: Iterable[str], *, now: float) -> None:
        """These pods are told to end."""
        for name in tuple(names):
            self.pods[name] = "Terminating"
            self.ends.setdefault(name, now + GRACE)

    def _pod(self, name: str) -> Pod:
        gone = datetime.fromtimestamp(self.ends[name], UTC) if self.pods[name] == "Terminating" else None
        return Pod(
            metadata=ObjectMeta(name=name, namespace="ns", deletion_timestamp=gone),
            status=PodStatus(phase="Running"),
        )


def _condition(kind: str, reason: str, *, on: bool = True) -> Condition:
    return Condition(type=kind, status="True" if on else "False", reason=reason)
