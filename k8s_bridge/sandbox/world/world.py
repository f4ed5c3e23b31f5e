"""The assembled world: API server, controllers, kubelets, Slurm, and the objects of two teams.

Everything listens on loopback, lives in one directory and ends with the context.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADMIXINGS, WORKLOADS, Kind
from k8s_bridge.sandbox.apiserver.kubeconfig import write_kubeconfig
from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.kubelet_runtime import runtime_by_container
from k8s_bridge.sandbox.controllers.manager import Controllers
from k8s_bridge.sandbox.controllers.simulated_runtime import SimulatedRuntime
from k8s_bridge.sandbox.slurm_real.process import end_marked
from k8s_bridge.sandbox.world import objects
from k8s_bridge.sandbox.world.bridge import BridgeProcess
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE, NORMAL, TEAM_A, Backend, WorldConfig
from k8s_bridge.sandbox.world.fake_side import FakeSide
from k8s_bridge.sandbox.world.pulse import Pulse
from k8s_bridge.sandbox.world.real_side import RealSide
from k8s_bridge.sandbox.world.recorder import Recorder, job_of
from k8s_bridge.sandbox.world.requests import JobRequest
from k8s_bridge.sandbox.world.slurm import JobFact, SlurmSide
from k8s_bridge.sandbox.world.timeline import PlainJob, Timeline

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds that waits last when nothing else is said."""


class World:
    """A running world; `World.start` makes it."""

    patience = 1.0
    """How many times longer than they say waits in such a world last."""

    def __init__(
        self,
        config: WorldConfig,
        *,
        server: ApiServer,
        slurm: SlurmSide,
        controllers: Controllers,
        pulse: Pulse,
    ) -> None:
        self.config = config
        self.server = server
        self.storage = server.storage
        self.slurm = slurm
        self.controllers = controllers
        self.kubeconfig = config.directory / "kubeconfig"
        self.bridges: list[BridgeProcess] = []
        self._pulse = pulse
        self._recorder = Recorder(self.storage, slurm.facts, pulse)

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, config: WorldConfig) -> AsyncIterator[World]:
        """A world with everything in it but a bridge. RuntimeError when Slurm does not come up."""
        config.directory.mkdir(parents=True, exist_ok=True)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(end_marked, config.directory)
            pulse = Pulse()
            server = await stack.enter_async_context(ApiServer(Storage(seed=config.seed)))
            slurm = await _slurm(config, pulse)
            stack.push_async_callback(slurm.stop)
            simulated = SimulatedRuntime(server.storage.clock)
            select = runtime_by_container({"slurmd": slurm.runtime()}, default=simulated)
            controllers = Controllers(server.storage, timing=config.pace.timing, select=select)
            world = cls(config, server=server, slurm=slurm, controllers=controllers, pulse=pulse)
            stack.push_async_callback(_end, asyncio.create_task(controllers.run()))
            stack.push_async_callback(world._stop_bridges)
            world._furnish()
            yield world

    async def bridge(
        self, name: str = "bridge", *, election: str = "none", kind: str = "slurm"
    ) -> BridgeProcess:
        """Start the real bridge as a process, and wait until it is ready; `kind` is slurm or ray."""
        process = BridgeProcess(
            directory=self.config.directory,
            kubeconfig=self.kubeconfig,
            commands=self.slurm.commands,
            name=name,
            election=election,
            bridge=kind,
        )
        self.bridges.append(process)
        await process.start()
        return process

    async def sbatch(self, request: JobRequest) -> int:
        """Submit a held Slurm job; its id. RuntimeError for what slurmctld refuses."""
        return await self.slurm.submit(request)

    async def scancel(self, job_id: int) -> None:
        """Cancel a Slurm job."""
        await self.slurm.cancel(job_id)

    def submit_job(  # noqa: PLR0913 - what a Job says
        self,
        name: str,
        *,
        queue: str = TEAM_A,
        priority: str = NORMAL,
        cpus: int = 1,
        pods: int = 1,
        seconds: float = 1.0,
    ) -> None:
        """Create a plain Kubernetes Job that Kueue admits."""
        kind, job = objects.plain_job(
            name, queue=queue, priority=priority, cpus=cpus, pods=pods, seconds=seconds
        )
        self.storage.create(kind, job)

    def delete(self, kind: Kind, name: str, *, grace_seconds: int | None = None) -> None:
        """Delete an object, of the teams' namespace if it has one."""
        namespace = NAMESPACE if kind.namespaced else ""
        self.storage.delete(kind, namespace, name, grace_seconds=grace_seconds)

    async def power_off(self, machine: str) -> None:
        """A Kubernetes node loses power, and the slurmds on it die without a word."""
        await self.controllers.nodes.power_off(machine)

    def write_token(self, token: str) -> None:
        """Replace the token that the bridge reads."""
        self.slurm.token_file.write_text(token)

    @property
    def timeline(self) -> Timeline:
        """What happened so far."""
        return self._recorder.timeline

    @property
    def jobs(self) -> dict[int, JobFact]:
        """The newest known record of each Slurm job."""
        return self.slurm.facts.jobs

    def text(self, job_id: int) -> str:
        """What people read on a Slurm job; "" before anything is written there, or known of the job."""
        job = self.jobs.get(job_id)
        return job.text if job else ""

    def plain(self, name: str) -> PlainJob | None:
        """A Kubernetes Job by name."""
        return next((job for job in self.timeline.plain_jobs if job.name == name), None)

    def of_job(self, kind: Kind, job_id: int) -> list[Json]:
        """The objects that one Slurm job has, such as JobSets or pods."""
        return [obj for obj in self.storage.list(kind, namespace=NAMESPACE) if job_of(obj) == job_id]

    def workload(self, job_id: int) -> Json | None:
        """The Workload of a Slurm job's JobSet."""
        uids = {jobset["metadata"]["uid"] for jobset in self.of_job(JOBSETS, job_id)}
        for workload in self.storage.list(WORKLOADS, namespace=NAMESPACE):
            owners = workload["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] in uids for owner in owners):
                return workload
        return None

    def mixing_condition(self, kind: str) -> Json | None:
        """A condition of the WorkloadMixing."""
        found = self.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING)
        return dict(condition) if found and (condition := conditions.find(found, kind)) else None

    async def until(self, condition: Callable[[], T | None], *, what: str, seconds: float = PATIENCE) -> T:
        """The first truthy answer, looked at whenever something changes. Raises Unmet, which tells all."""
        limit = seconds * self.patience
        return await self._pulse.until(condition, seconds=limit, what=what, describe=self.describe)

    async def until_state(self, job_id: int, *states: str, seconds: float = PATIENCE) -> JobFact:
        """Wait until a Slurm job is in one of the states, final ones with its nodes left."""

        def reached() -> JobFact | None:
            job = self.jobs.get(job_id)
            return job if job and job.state in states and not job.completing else None

        return await self.until(reached, what=f"job {job_id} is {' or '.join(states)}", seconds=seconds)

    async def until_quiet(self, *, seconds: float = PATIENCE) -> Timeline:
        """Wait until every job is over, nothing is in use and no node of ours is left; the timeline."""
        await self.until(self._is_quiet, what="everything is over and given back", seconds=seconds)
        return self.timeline

    def describe(self) -> str:
        """The world as it is, for whoever waited in vain."""
        time = self.timeline
        lines = [*map(str, time.jobs.values()), *map(str, time.nodes.values()), *map(str, time.plain_jobs)]
        lines += [f"pod {span.name} of {span.job_id}" for span in time.pods if span.ended is None]
        lines += [f"jobset {span.name}" for span in time.jobsets if span.ended is None]
        lines += [_told(workload) for workload in self.storage.list(WORKLOADS)]
        mixing = self.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING) or {}
        lines += [str(found) for found in (mixing.get("status") or {}).get("conditions") or ()]
        lines += [f"{bridge.log.name}: …{bridge.last_words()}" for bridge in self.bridges]
        return "\n".join(lines)

    def _is_quiet(self) -> bool:
        time = self.timeline
        over = all(job.over for job in time.jobs.values())
        plain = all(job.state in ("Complete", "Failed") for job in time.plain_jobs)
        unused = not any(amount for queue in time.usage.values() for amount in queue.values())
        left = [span for span in (*time.jobsets, *time.pods) if span.job_id is not None and not span.ended]
        return over and plain and unused and not left and not time.nodes

    def _furnish(self) -> None:
        for kind, obj in objects.beginning(self.config):
            self.storage.create(kind, obj)
        kind, obj = objects.mixing(
            self.config, rest_url=self.slurm.rest_url, token_file=str(self.slurm.token_file)
        )
        self.storage.create(kind, obj)
        write_kubeconfig(self.server, self.kubeconfig, namespace=NAMESPACE)

    async def _stop_bridges(self) -> None:
        await asyncio.gather(*(bridge.aclose() for bridge in self.bridges))


async def _slurm(config: WorldConfig, pulse: Pulse) -> SlurmSide:
    if config.slurm is Backend.REAL:
        return await RealSide.start(config, pulse)
    return await FakeSide.start(config, pulse)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _told(workload: Json) -> str:
    said = (workload.get("status") or {}).get("conditions") or ()
    conditions_ = [f"{c['type']}={c['status']}/{c['reason']}" for c in said]
    return f"workload {workload['metadata']['name']} {' '.join(conditions_)}"
