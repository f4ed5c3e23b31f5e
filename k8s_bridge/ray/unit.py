"""Everything that is known about one inner RayJob at one moment: the only input of `decide`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import NamedTuple

from api.ray_views import RayCluster, RayJob, Submitter
from api.views import JobSet, Pod, Workload
from k8s_bridge.ray.request import Refusal, Request


class Key(NamedTuple):
    """A RayJob; its uid tells it from one of the same name before."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class State(StrEnum):
    """The states of an inner RayJob."""

    FOREIGN = "Foreign"
    INTERACTIVE = "Interactive"
    DONE = "Done"
    DRAINING = "Draining"
    REQUEUING = "Requeuing"
    EVICTED = "Evicted"
    LOST = "Lost"
    SPENT = "RequeuesExhausted"
    FINISHED = "Finished"
    BYPASSED = "Bypassed"
    REFUSED = "Refused"
    CLUSTER = "WaitingCluster"
    EXHAUSTED = "WorkerRetriesExhausted"
    DENIED = "Denied"
    HELD = "Held"
    RESIZED = "Resized"
    FAILED = "WorkersFailed"
    QUEUED = "Queued"
    RUNNING = "Running"
    READY = "Ready"
    RELEASED = "Released"
    ADMITTED = "Admitted"


class Requeue(Enum):
    """What KubeRay can do about a job that lost its workers."""

    RETRYING = auto()
    """From 1.6 on: it makes another submission and leaves the shared cluster alone."""
    IMPOSSIBLE = auto()
    """Before: it would delete the shared cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the WorkloadMixing says about every job. Times in seconds."""

    provision_timeout: float = 900.0
    worker_retries: int = 3
    ttl: float = 0.0
    requeue: Requeue = Requeue.RETRYING


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Memory: the present state and since when (Unix seconds)."""

    state: State
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """The JobSet was refused; `until` is when to try again (Unix seconds)."""

    reason: str
    text: str
    until: float
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One inner RayJob and all that belongs to it."""

    key: Key
    job: RayJob | None = None
    managed: bool = False
    """Whether its cluster is among the managedClusters."""
    elsewhere: str = ""
    """The WorkloadMixing that serves its cluster instead of this one; "" when none does."""
    cluster: RayCluster | None = None
    jobset: JobSet | None = None
    workload: Workload | None = None
    workers: tuple[Pod, ...] = ()
    submitters: tuple[Submitter, ...] = ()
    request: Request | Refusal | None = None
    shape: str = ""
    """Digest of what a JobSet would be made from now; "" when none can be made."""
    trouble: tuple[str, str] = ("", "")
    """(reason, text) of what is wrong with queue or priority class; empty when nothing is."""
    policy: Policy = Policy()
    denied: Denial | None = None
    seen: Seen | None = None
