"""Slurm as a world sees it, real or fake: what can be done to it, and what was seen of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from k8s_bridge.sandbox.controllers.kubelet_runtime import PodRuntime
from k8s_bridge.sandbox.world.pulse import Pulse
from k8s_bridge.sandbox.world.requests import JobRequest

_WAITS = ("PENDING", "CONFIGURING")
_RUNS = ("RUNNING", "SUSPENDED")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFact:
    """A job's record at one moment. `text` is the comment that people read; `nodes` where it runs or ran.

    `unit` is the id of the job array, or of the heterogeneous job, that the record belongs to.
    While a job leaves its nodes `state` is what it ended as, but Slurm 22.05 then says COMPLETING alone.
    """

    job_id: int
    unit: int = 0
    task: int | None = None
    name: str = ""
    partition: str = ""
    state: str = ""
    completing: bool = False
    reason: str = ""
    held: bool = False
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    text: str = ""

    @property
    def over(self) -> bool:
        """Whether it is in a final state and has left its nodes."""
        return bool(self.state) and self.state not in (*_WAITS, *_RUNS) and not self.completing

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.state == "RUNNING"

    @property
    def waiting(self) -> bool:
        """Whether it waits to be started."""
        return self.state == "PENDING"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    """A node's record at one moment; state words in capitals."""

    name: str
    states: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """slurmctld started a job on these nodes. `at` is Unix seconds.

    A task of an array and a component of a heterogeneous job start under the id of the whole.
    """

    job_id: int
    nodes: tuple[str, ...]
    at: float


Seen = JobFact | Start | Mapping[str, NodeFact]
"""A job that changed, a start, or all nodes after a change of one."""


class SlurmFacts:
    """What was seen of Slurm. Jobs stay known when Slurm has purged them; nodes are those of now.

    `listeners` are told of each change at the moment it is seen.
    """

    def __init__(self, pulse: Pulse) -> None:
        self.listeners: list[Callable[[Seen], None]] = []
        self.jobs: dict[int, JobFact] = {}
        self.nodes: dict[str, NodeFact] = {}
        self.starts: list[Start] = []
        self._pulse = pulse

    def saw_job(self, job: JobFact) -> None:
        """Note the newest record of a job."""
        if self.jobs.get(job.job_id) != job:
            self.jobs[job.job_id] = job
            self._tell(job)

    def saw_nodes(self, nodes: Iterable[NodeFact]) -> None:
        """Note all nodes that there are."""
        now = {node.name: node for node in nodes}
        if now != self.nodes:
            self.nodes = now
            self._tell(now)

    def saw_start(self, job_id: int, nodes: tuple[str, ...]) -> None:
        """Note that a job has just been started."""
        start = Start(job_id=job_id, nodes=nodes, at=time.time())
        self.starts.append(start)
        self._tell(start)

    def _tell(self, seen: Seen) -> None:
        for listener in self.listeners:
            listener(seen)
        self._pulse.beat()


class SlurmSide(Protocol):
    """One cluster, real or fake."""

    @property
    def facts(self) -> SlurmFacts:
        """What was seen so far."""

    @property
    def rest_url(self) -> str:
        """Base URL of slurmrestd."""

    @property
    def token_file(self) -> Path:
        """File with a token of root."""

    @property
    def commands(self) -> Path | None:
        """Folder with sbatch, squeue and the like for people; None when there are none."""

    def runtime(self) -> PodRuntime:
        """What runs slurmd pods."""

    async def submit(self, request: JobRequest) -> int:
        """Submit a held job; its id. Raises RuntimeError for what slurmctld refuses."""

    async def cancel(self, job_id: int, task: int | None = None) -> None:
        """What scancel does; of a job array with `task` only to that one."""

    async def hold(self, job_id: int) -> None:
        """What an administrator's `scontrol hold` does; of a job array to every task."""

    async def release(self, job_id: int) -> None:
        """What an administrator's `scontrol release` does."""

    async def requeue(self, job_id: int, task: int | None = None) -> None:
        """What an administrator's `scontrol requeue` does."""

    async def refresh(self) -> None:
        """Read jobs and nodes now."""

    async def stop_controller(self) -> None:
        """Stop slurmctld."""

    async def start_controller(self) -> None:
        """Start slurmctld; it remembers."""

    async def restart_rest(self) -> None:
        """Stop slurmrestd and start it again at the same URL."""

    async def stop(self) -> None:
        """End everything."""
