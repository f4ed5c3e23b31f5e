"""The state of one fake slurmctld: jobs and nodes, and indexes that keep 20,000 held jobs free of cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from k8s_bridge.sandbox.clock import Clock
from k8s_bridge.sandbox.slurm_fake import features
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job, Reason, State
from k8s_bridge.sandbox.slurm_fake.nodes import Node

ROOT = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What slurm.conf would say; times in seconds. See versions.RELEASES for `release`; `name`: ClusterName.

    `recovery`: how often Slurm looks again at jobs with BadConstraints and at dependencies of held jobs.
    `away_answer`: how long slurmrestd tries before it says that slurmctld is away. `max_jobs`: how many jobs
    of an account, by its name, may run at a time (MaxJobs of its associations).
    """

    name: str = "sandbox"
    release: str = "24.11"
    partitions: tuple[str, ...] = ("all",)
    cred_expire: float = 5.0
    slurmd_timeout: float = 30.0
    min_job_age: float = 300.0
    schedule_interval: float = 0.1
    recovery: float = 5.0
    completing: float = 0.1
    away_answer: float = 9.0
    max_jobs: Mapping[str, int] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class Cluster:
    """Everything slurmctld knows. `up` is False while it is stopped; `*_changed` are Unix seconds.

    `listeners` are called with each job after each change of it, `node_listeners` after each change of nodes.
    """

    settings: Settings
    clock: Clock
    up: bool = True
    next_id: int = 1
    jobs: dict[int, Job] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    waiting: dict[int, Job] = field(default_factory=dict)
    running: dict[int, Job] = field(default_factory=dict)
    ended: dict[int, Job] = field(default_factory=dict)
    jobs_changed: int = 0
    nodes_changed: int = 0
    partitions_changed: int = 0
    listeners: list[Callable[[Job], None]] = field(default_factory=list)
    node_listeners: list[Callable[[], None]] = field(default_factory=list)

    @property
    def now(self) -> float:
        """Unix seconds by the cluster's clock."""
        return self.clock.now().timestamp()

    def find(self, job_id: int) -> Job:
        """The row of a job; raises SlurmError when slurmctld does not know it."""
        try:
            return self.jobs[job_id]
        except KeyError:
            raise SlurmError(Errno.JOB_ID) from None

    def node(self, name: str) -> Node:
        """The row of a node; raises SlurmError when there is none."""
        try:
            return self.nodes[name]
        except KeyError:
            raise SlurmError(Errno.NODE_NAME) from None

    def add(self, job: Job) -> None:
        """Take in a new row."""
        self.jobs[job.job_id] = job
        self.file(job)

    def file(self, job: Job) -> None:
        """Put a row where its state belongs, and note that jobs have changed. Call after every change."""
        bad = job.reason is Reason.BAD_CONSTRAINTS
        looked_at = not job.held or bad or bool(job.dependency.conditions)
        homes = {
            "waiting": job.state is State.PENDING and looked_at,
            "running": job.state is State.RUNNING,
            "ended": job.over,
        }
        for home, belongs in homes.items():
            index: dict[int, Job] = getattr(self, home)
            if belongs:
                index[job.job_id] = job
            else:
                index.pop(job.job_id, None)
        self.jobs_changed = int(self.now)
        for listener in self.listeners:
            listener(job)

    def forget(self, job: Job) -> None:
        """Purge a finished job: from now on its id is invalid."""
        del self.jobs[job.job_id], self.ended[job.job_id]
        self.jobs_changed = int(self.now)

    def new_id(self) -> int:
        """The next free job id."""
        self.next_id += 1
        return self.next_id - 1

    def array(self, array_id: int) -> Iterator[Job]:
        """All rows of an array."""
        return (job for job in self.jobs.values() if job.array_id == array_id)

    def ended_well(self, job_id: int) -> bool | None:
        """Whether a job completed; None while it is not over. Of a purged one the best is assumed."""
        job = self.jobs.get(job_id)
        if job is None:
            return True
        return job.state is State.COMPLETED if job.over else None

    def stands_for_others(self, job: Job) -> bool:
        """Whether a row is that of an array of which tasks are not over: it is not purged."""
        return job.array_id == job.job_id and any(not other.over for other in self.array(job.array_id))

    def at_limit(self, job: Job) -> bool:
        """Whether as many jobs of its account run as may."""
        account = job.record.get("account", "")
        most = self.settings.max_jobs.get(account)
        if most is None:
            return False
        return sum(1 for other in self.running.values() if other.record.get("account") == account) >= most

    def together(self, job: Job) -> list[Job]:
        """The row, or all components of a heterogeneous job, in order."""
        if not job.het_id:
            return [job]
        found = (other for other in self.jobs.values() if other.het_id == job.het_id)
        return sorted(found, key=lambda other: other.het_offset)

    def nodes_touched(self) -> None:
        """Note that nodes have changed."""
        self.nodes_changed = int(self.now)
        for listener in self.node_listeners:
            listener()

    def has_cpus_for(self, job: Job) -> bool:
        """Whether all nodes together, whatever their state, have as many CPUs as the job asks for."""
        return sum(node.cpus for node in self.nodes.values()) >= job.demand.cpus

    def able(self, job: Job) -> list[Node]:
        """All nodes with the features that the job asks for, whatever their state."""
        expression = job.record.get("features", "")
        return [node for node in self.nodes.values() if features.matches(expression, node.features)]

    def known_features(self, expression: str) -> bool:
        """Whether every feature named is one that some node has now."""
        have = {feature for node in self.nodes.values() for feature in node.features}
        return features.names(expression) <= have
