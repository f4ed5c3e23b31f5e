"""Effects on Slurm, as data, and the closed union that the Slurm bridge executes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from k8s_bridge.core.effects import KubeEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateJobSet:
    """Render and create the job's JobSet, suspended, or that of one slot of an array.

    `shape` is the digest of the layout decided on.
    """

    job_id: int
    shape: str
    slot: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeHold:
    """Hold the job by our own identity (JobHeldAdmin), with the text in admin_comment in the same call.

    Slurm 22.05 takes two: there the text is a claim until the hold is ours, see facts.CLAIM.
    """

    job_id: int
    text: str


class Begin(Enum):
    """The begin time of a job that goes back to the queue: the delay that a requeue brings is undone."""

    AT_ONCE = auto()
    AS_IT_IS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehold:
    """After an eviction or loss: hold, and give back the user's own constraint expression."""

    job_id: int
    constraints: str
    begin: Begin
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """Say the job's node count again: slurmctld then counts anew what the job asks for.

    It does not after an update (scontrol update NumNodes=2) that came while no node could run the job.
    """

    job_id: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PinAndRelease:
    """Set the constraint expression, read it back, then release with the text in the same call.

    `nodes` is what was seen ready. The text tells later whose hold a hold is: see predicates.held_by_other.
    """

    job_id: int
    constraints: str
    nodes: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repin:
    """Let waiting tasks of an array, which nobody holds, start on the slots that serve now, and at once."""

    job_id: int
    constraints: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowRequeue:
    """Undo --no-requeue: the job is about to lose its nodes, and the policy is to run it again."""

    job_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetText:
    """Status text: admin_comment always; comment only if it is empty or ours."""

    job_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """Say in the owner's comment which priority was applied; the rest of the comment is the owner's."""

    job_id: int
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPriority:
    """Make Slurm show the Workload's priority for a job that it may start; never 0, which would hold it."""

    job_id: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Cancel the job, after writing why into its text; of a job array with `task` only that one."""

    job_id: int
    text: str
    task: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesDown:
    """Set nodes DOWN with our reason: what runs there is requeued at once."""

    nodes: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesDrain:
    """Drain nodes with our reason: nothing new starts there."""

    nodes: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesResume:
    """Take our own drain off nodes again."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Warn:
    """Drain nodes that are about to go, then send the job's steps the signal that its owner asked for.

    Both in one effect: that the nodes are draining tells that the signal was sent, and it is sent once.
    """

    nodes: tuple[str, ...]
    reason: str
    job_id: int
    signal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesDelete:
    """Delete node records. Unknown is success; busy is a Retry."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostsDelete:
    """Delete those of the node records that no pod stands behind, which is asked just before."""

    nodes: tuple[str, ...]


JobChange = TakeHold | Repin | AllowRequeue | Recount | SetPriority
"""What is one change of the job's record, whatever that says by now."""
SlurmEffect = (
    JobChange
    | SetText
    | Acknowledge
    | Rehold
    | PinAndRelease
    | Cancel
    | NodesDown
    | NodesDrain
    | NodesResume
    | NodesDelete
    | GhostsDelete
    | Warn
)
Effect = KubeEffect | CreateJobSet | SlurmEffect
