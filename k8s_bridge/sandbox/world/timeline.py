"""What happened in a world, as plain data: the recorder fills it, the invariants judge it.

Times are Unix seconds; `ended` None means that it has not ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from k8s_bridge.sandbox.world.slurm import JobFact, NodeFact, Start


@dataclass(slots=True, kw_only=True)
class Span:
    """Something that was so from `begun` to `ended`. `job_id` is None for what is not a Slurm job's.

    `jobset` is the uid of the JobSet that a pod or an admission belongs to.
    """

    name: str
    uid: str
    begun: float
    ended: float | None = None
    job_id: int | None = None
    jobset: str = ""

    def covers(self, moment: float, *, grace: float = 0.0) -> bool:
        """Whether it was so at that moment, or ended at most `grace` seconds before."""
        return self.begun <= moment and (self.ended is None or moment <= self.ended + grace)

    def overlaps(self, other: Span) -> bool:
        """Whether both were so at the same time."""
        first, second = sorted((self, other), key=lambda span: span.begun)
        return first.ended is None or second.begun < first.ended


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainJob:
    """A Kubernetes Job: its last condition, or while it has none what its Workload waits for."""

    name: str
    state: str
    reason: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """A Workload lost its admission."""

    workload: str
    reason: str
    message: str
    at: float
    job_id: int | None = None


@dataclass(slots=True, kw_only=True)
class Timeline:
    """Everything that the invariants rest on.

    `usage` and `quota` by queue, then by resource, in the units of controllers.quantity; `peak` is the most
    that was ever reserved of each resource by all queues together.
    """

    begun: float
    admissions: list[Span] = field(default_factory=list)
    jobsets: list[Span] = field(default_factory=list)
    pods: list[Span] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    jobs: Mapping[int, JobFact] = field(default_factory=dict)
    nodes: Mapping[str, NodeFact] = field(default_factory=dict)
    plain_jobs: list[PlainJob] = field(default_factory=list)
    usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    quota: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    peak: Mapping[str, int] = field(default_factory=dict)


def of_job(spans: Iterable[Span], job_id: int) -> list[Span]:
    """The spans of one Slurm job."""
    return [span for span in spans if span.job_id == job_id]
