"""Job rows: lean, with only what differs from an empty record; full records are rendered on demand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from k8s_bridge.sandbox.slurm_fake.demand import Demand
from k8s_bridge.sandbox.slurm_fake.dependency import Dependency
from k8s_bridge.sandbox.slurm_fake.nodes import Share


class State(StrEnum):
    """Base states."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"


class Reason(StrEnum):
    """state_reason."""

    NONE = "None"
    HELD_USER = "JobHeldUser"
    HELD_ADMIN = "JobHeldAdmin"
    BAD_CONSTRAINTS = "BadConstraints"
    BEGIN_TIME = "BeginTime"
    DEPENDENCY = "Dependency"
    DEPENDENCY_HOPELESS = "DependencyNeverSatisfied"
    RESOURCES = "Resources"
    NODES_AWAY = "ReqNodeNotAvail"
    ASSOC_MAX_JOBS = "AssocMaxJobsLimit"
    PARTITION_CPUS = "PartitionConfig"
    PARTITION_NODES = "PartitionNodeLimit"
    NODE_DOWN = "NodeDown"
    NON_ZERO_EXIT = "NonZeroExitCode"
    TIME_LIMIT = "TimeLimit"


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One job. `record` holds answer fields as given at submit; times are Unix seconds, 0 for never.

    `run_time` is how long the script runs (seconds), `exit_code` what it then exits with.
    `tasks` are the array's tasks that have not started; `array_id` is 0 for a job that is no array.
    """

    job_id: int
    user: str
    record: dict[str, Any]
    demand: Demand
    run_time: float
    exit_code: int = 0
    state: State = State.PENDING
    priority: int = 1
    reason: Reason = Reason.NONE
    description: str = ""
    dependency: Dependency = field(default_factory=Dependency)
    submit_time: int = 0
    eligible_time: int = 0
    start_time: int = 0
    ends_at: float = 0.0
    end_time: int = 0
    completing_until: float = 0.0
    recover_at: float = 0.0
    restarts: int = 0
    signals: list[str] = field(default_factory=list)
    """What its steps were sent."""
    shares: tuple[Share, ...] = ()
    failed_node: str = ""
    array_id: int = 0
    array_task: int | None = None
    array_limit: int = 0
    tasks: list[int] = field(default_factory=list)
    het_id: int = 0
    """Id of the first component of a heterogeneous job; 0 for any other."""
    het_offset: int = 0

    @property
    def held(self) -> bool:
        """What the field `hold` says: priority 0."""
        return self.priority == 0

    @property
    def over(self) -> bool:
        """Whether it has reached a final state."""
        return self.state not in (State.PENDING, State.RUNNING)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that it runs or ran on."""
        return tuple(share.node for share in self.shares)

    def states(self, now: float) -> list[str]:
        """job_state: the base state, and COMPLETING while its nodes are cleaned up."""
        return [self.state.value, "COMPLETING"] if self.completing_until > now else [self.state.value]

    def split(self, job_id: int) -> Job:
        """Take the next task of an array out of this row, as a row of its own."""
        return replace(self, job_id=job_id, record=dict(self.record), tasks=[], array_task=self.tasks.pop(0))
