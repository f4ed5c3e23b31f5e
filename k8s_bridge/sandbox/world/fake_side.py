"""The fake Slurm as a world's cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

from k8s_bridge.sandbox.controllers.kubelet_runtime import PodRuntime
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Fault, FaultRule, Settings, SlurmError
from k8s_bridge.sandbox.slurm_fake.jobs import Job
from k8s_bridge.sandbox.slurmd_runtime import FakeSlurmdRuntime
from k8s_bridge.sandbox.world.config import PARTITIONS, WorldConfig
from k8s_bridge.sandbox.world.pulse import Pulse
from k8s_bridge.sandbox.world.requests import JobRequest
from k8s_bridge.sandbox.world.slurm import JobFact, NodeFact, SlurmFacts

_REST_AWAY = 0.3


class FakeSide:
    """FakeSlurm behind the interface that it shares with the real one."""

    def __init__(self, slurm: FakeSlurm, *, directory: Path, pulse: Pulse) -> None:
        self.slurm = slurm
        self.facts = SlurmFacts(pulse)
        self.token_file = directory / "token"
        self.token_file.write_text(slurm.token)
        slurm.cluster.listeners.append(self._changed)
        slurm.cluster.node_listeners.append(self._nodes_changed)
        self._runtime = FakeSlurmdRuntime(slurm)
        self._running: set[tuple[int, int]] = set()

    @classmethod
    async def start(cls, config: WorldConfig, pulse: Pulse) -> FakeSide:
        """A running, empty cluster with the managed partitions."""
        settings = Settings(
            release=config.release, partitions=PARTITIONS, cred_expire=1.0, recovery=1.0, away_answer=1.0
        )
        slurm = await FakeSlurm.start(settings)
        return cls(slurm, directory=config.directory, pulse=pulse)

    @property
    def rest_url(self) -> str:
        """Base URL of the fake slurmrestd."""
        return self.slurm.rest_url

    @property
    def commands(self) -> Path | None:
        """There are no commands."""
        return None

    def runtime(self) -> PodRuntime:
        """Pods that register with the fake."""
        return self._runtime

    def oom_kill(self, pod: str) -> None:
        """The kernel ends a pod that is over its memory limit."""
        self._runtime.oom_kill(pod)

    async def submit(self, request: JobRequest) -> int:
        """Submit a held job; its id."""
        try:
            if request.more:
                components = [one.description() for one in (request, *request.more)]
                return self.slurm.submit_het(*components, run_time=request.seconds, exit_code=request.code)
            return self.slurm.submit(
                run_time=request.seconds, exit_code=request.code, **request.description()
            )
        except SlurmError as error:
            raise RuntimeError(f"sbatch: {error}") from error

    async def cancel(self, job_id: int, task: int | None = None) -> None:
        """Cancel."""
        self.slurm.cancel(job_id, task=task)

    async def hold(self, job_id: int) -> None:
        """Hold as root."""
        self.slurm.hold(job_id)

    async def release(self, job_id: int) -> None:
        """Release as root."""
        self.slurm.release(job_id)

    async def requeue(self, job_id: int, task: int | None = None) -> None:
        """Requeue as root."""
        self.slurm.requeue(job_id, task=task)

    async def refresh(self) -> None:
        """Read jobs and nodes now."""
        for job in self.slurm.jobs.values():
            self._changed(job)
        self._nodes_changed()

    async def stop_controller(self) -> None:
        """Take slurmctld away."""
        self.slurm.stop_controller()

    async def start_controller(self) -> None:
        """Let it come back."""
        self.slurm.start_controller()
        await self.refresh()

    async def restart_rest(self) -> None:
        """Connections break for a moment."""
        self.slurm.inject(FaultRule(fault=Fault.RESET))
        await asyncio.sleep(_REST_AWAY)
        self.slurm.inject()

    async def stop(self) -> None:
        """End it."""
        await self.slurm.stop()

    def _changed(self, job: Job) -> None:
        fact = _fact(job, now=self.slurm.cluster.now)
        run = (job.job_id, job.restarts)
        if fact.running and run not in self._running:
            self._running.add(run)
            self.facts.saw_start(job.array_id or job.het_id or job.job_id, job.nodes)
        self.facts.saw_job(fact)

    def _nodes_changed(self) -> None:
        now = self.slurm.cluster.now
        self.facts.saw_nodes(
            NodeFact(name=node.name, states=frozenset(node.states(now)), features=frozenset(node.features))
            for node in self.slurm.nodes.values()
        )


def _fact(job: Job, *, now: float) -> JobFact:
    record = job.record
    return JobFact(
        job_id=job.job_id,
        unit=job.array_id or job.het_id,
        task=job.array_task,
        name=record.get("name", ""),
        partition=record.get("partition", ""),
        state=job.state.value,
        completing=job.completing_until > now,
        reason=job.reason.value,
        held=job.held,
        nodes=job.nodes,
        restarts=job.restarts,
        text=record.get("admin_comment", "") or record.get("comment", ""),
    )
