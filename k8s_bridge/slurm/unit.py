"""Everything that is known about one Slurm job at one moment: the only input of `decide`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from api.v1alpha1.policy import NoRequeuePolicy, RefusedJobPolicy
from api.views import JobSet, Pod, Workload
from k8s_bridge.slurm.eligibility.surroundings import NOTHING, Surroundings
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.model import Job, Node


class Slot(NamedTuple):
    """The key of one slot of a job array."""

    job_id: int
    number: int

    def __str__(self) -> str:
        return f"{self.job_id}-s{self.number}"


Key = int | Slot
"""What a unit is called: a job's id, or one slot of an array. The text of a key is unique."""


def job_of(key: Key) -> int:
    """The job id of a unit."""
    return key if isinstance(key, int) else key.job_id


class State(StrEnum):
    """The states of a unit; slurm-side words where Slurm has one."""

    FOREIGN = "Foreign"
    UNKNOWN = "Unknown"
    REPLACED = "Replaced"
    GUARDED = "Guarded"
    DRAINING = "Draining"
    RETAINED = "Retained"
    DONE = "Done"
    COMPLETING = "Completing"
    RUNNING = "Running"
    TRESPASS = "Trespass"
    EVICTED = "Evicted"
    LOST = "Lost"
    HELD_BY_OTHER = "HeldByOther"
    INELIGIBLE = "Ineligible"
    REFUSED = "Refused"
    HELD = "Held"
    TURN = "WaitingTurn"
    DENIED = "Denied"
    RESIZED = "Resized"
    FAILED = "CapacityFailed"
    PARKED = "Parked"
    QUEUED = "Queued"
    ADMITTED = "Admitted"
    READY = "Ready"
    RELEASED = "Released"
    WITHHELD = "Withheld"


class Presence(StrEnum):
    """What Slurm says of the job id: a record, "invalid job id", or nothing yet."""

    PRESENT = "present"
    GONE = "gone"
    UNKNOWN = "unknown"


class Deletion(StrEnum):
    """What the guard allows when a job is over or gone."""

    ALLOWED = "allowed"
    REFUSED = "refused"


class Retry(StrEnum):
    """When a unit that gave its quota back is tried again: after its pause, within a minute, or now."""

    LATER = "later"
    SOON = "soon"
    NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The policy that applies to a job, compiled from the WorkloadMixing. Times in seconds."""

    name: str
    queue: str
    priority_class: str
    provision_timeout: float = 900.0
    start_timeout: float = 600.0
    requeue_limit: int = 10
    retention: float = 0.0
    adopt_unheld: bool = False
    drain_first: bool = False
    """What runs on nodes that are taken away may go on while their pods may still live."""
    cancel_orphans: bool = False
    orphan_grace: float = 0.0
    """How long a running job's JobSet must be missing before the job is cancelled as an orphan."""
    refused: RefusedJobPolicy = RefusedJobPolicy.HOLD
    no_requeue: NoRequeuePolicy = NoRequeuePolicy.FAIL
    priority_sync: bool = False
    class_priority: int = 0
    """The value of the priority class; 0 when there is none, as for Kueue."""
    trouble: tuple[str, str] = ("", "")
    """(reason, text) of what is wrong with queue or priority class; empty when nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Memory: when the present state was first seen, and when a text was last written."""

    state: State
    since: float
    text_at: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    jobset: str = ""
    """uid of the JobSet that there was then; "" when there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """The JobSet was refused: by a webhook, a quota, a right that is missing, or its name is taken.

    `until` is when to try again (Unix seconds); `attempts` counts refusals in a row.
    """

    reason: str
    text: str
    until: float
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """What a unit of a job array knows besides: the records of tasks that are not over, and all slots.

    A task that has started once has a record of its own; those that never did share the array's.
    """

    records: tuple[Job, ...] = ()
    slots: tuple[Unit, ...] = ()
    failed: bool = False
    """Some task has failed that Slurm still knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One Slurm job and all that belongs to it: pods of its JobSet (by uid), Slurm nodes with our feature.

    A job array is a unit without a JobSet, and one unit more for each slot.
    """

    job_id: int
    slot: int | None = None
    array: Array | None = None
    """Of an array as a whole."""
    components: tuple[Job, ...] = ()
    """The records of a heterogeneous job, in order; `job` stands for all of them."""
    whole: Unit | None = None
    """Of a slot: its array."""
    presence: Presence = Presence.PRESENT
    job: Job | None = None
    jobset: JobSet | None = None
    workload: Workload | None = None
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    cordoned: str = ""
    """Of a slot: a Kubernetes node under it that takes no new pods."""
    partition: Partition | None = None
    layout: Layout | Refusal | None = None
    shape: str = ""
    """Digest of what a JobSet would be made from; another than its own when job or WorkloadMixing changed."""
    surroundings: Surroundings = NOTHING
    """What else decides whether Slurm would start it."""
    wanted_priority: int | None = None
    """The priority that the job's owner asks for, as far as the owner may; None without such a wish."""
    may_create: bool = True
    retry: Retry = Retry.LATER
    deletion: Deletion = Deletion.ALLOWED
    denied: Denial | None = None
    """Why its JobSet could not be created at the last attempt."""
    seen: Seen | None = None

    @property
    def key(self) -> Key:
        """What it is called."""
        return self.job_id if self.slot is None else Slot(self.job_id, self.slot)
