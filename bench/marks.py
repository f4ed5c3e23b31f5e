"""When each thing first happened to each job, and the stages between. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil


class Mark(StrEnum):
    """A moment of a job's life, seen at the servers."""

    SUBMITTED = "in Slurm"
    TOLD = "told"
    """What tells the bridge of the job was started; sbatch had ended."""
    SHOWN = "answer shows job"
    """slurmrestd sent the bridge an answer with the job in it."""
    ASKED = "JobSet asked for"
    """The API server received the request that creates the JobSet."""
    ADMITTED = "admitted"
    REGISTERED = "nodes registered"
    """Every node that the JobSet makes is in Slurm and idle."""
    NODES_SHOWN = "answer shows nodes"
    """slurmrestd sent the bridge an answer with all of them, idle."""
    RELEASED = "release asked for"
    """slurmrestd received the request that ends the hold."""
    RUNNING = "running"
    OVER = "over"
    """In a final state, and no longer completing."""
    EVICTED = "evicted"
    """Kueue said so."""
    REQUEUED = "requeued"
    """Pending again in Slurm after that."""
    JOBSET_GONE = "JobSet gone"
    GONE = "gone"
    """No JobSet, pod or node record is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """From one mark to another."""

    name: str
    begin: Mark
    end: Mark


STAGES = (
    Stage(name="pickup", begin=Mark.SUBMITTED, end=Mark.ASKED),
    Stage(name="sbatch", begin=Mark.SUBMITTED, end=Mark.TOLD),
    Stage(name="told_to_shown", begin=Mark.TOLD, end=Mark.SHOWN),
    Stage(name="poll_to_jobset", begin=Mark.SHOWN, end=Mark.ASKED),
    Stage(name="wait_for_quota", begin=Mark.ASKED, end=Mark.ADMITTED),
    Stage(name="provision", begin=Mark.ADMITTED, end=Mark.REGISTERED),
    Stage(name="registered_to_released", begin=Mark.REGISTERED, end=Mark.RELEASED),
    Stage(name="our_share_of_release", begin=Mark.NODES_SHOWN, end=Mark.RELEASED),
    Stage(name="start", begin=Mark.RELEASED, end=Mark.RUNNING),
    Stage(name="requeue", begin=Mark.EVICTED, end=Mark.REQUEUED),
    Stage(name="give_back", begin=Mark.OVER, end=Mark.JOBSET_GONE),
    Stage(name="teardown", begin=Mark.OVER, end=Mark.GONE),
)


class Marks:
    """The first time of each mark, in seconds of one clock."""

    def __init__(self) -> None:
        self.jobs: dict[int, dict[Mark, float]] = {}

    def stamp(self, job_id: int, mark: Mark, at: float) -> None:
        """It happened at `at`; only the first time counts."""
        self.jobs.setdefault(job_id, {}).setdefault(mark, at)

    def has(self, job_id: int, mark: Mark) -> bool:
        """Whether it has happened."""
        return mark in self.jobs.get(job_id, {})

    def seconds(self, stage: Stage) -> list[float]:
        """How long the stage took, of every job that went through it."""
        return [
            marks[stage.end] - marks[stage.begin]
            for marks in self.jobs.values()
            if stage.begin in marks and stage.end in marks
        ]

    def stages(self) -> Mapping[str, Spread]:
        """Every stage that some job went through."""
        return {stage.name: spread(found) for stage in STAGES if (found := self.seconds(stage))}

    def table(self, scenario: str) -> dict[str, float]:
        """The same in milliseconds, by the names that they have in a result."""
        found: dict[str, float] = {}
        for name, values in self.stages().items():
            found[f"{scenario}.{name}.p50_ms"] = values.p50 * 1000
            found[f"{scenario}.{name}.p99_ms"] = values.p99 * 1000
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Percentiles in seconds (nearest rank) of `count` measurements."""

    count: int
    p50: float
    p99: float
    most: float


def spread(values: Iterable[float]) -> Spread:
    """ValueError when there are none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("nothing was measured")
    return Spread(count=len(ordered), p50=_rank(ordered, 0.5), p99=_rank(ordered, 0.99), most=ordered[-1])


def _rank(ordered: list[float], share: float) -> float:
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
