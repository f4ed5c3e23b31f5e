"""The head of one Ray cluster: its nodes, its jobs, and which job runs where.

A job waits for a node that has what its entrypoint asks for, and fails when it waits for too long. A node
that leaves by itself is gone at once; one that is killed is alive until its heartbeats are missed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Iterable
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.clock import Clock
from k8s_bridge.sandbox.controllers.timing import Timing
from k8s_bridge.sandbox.ray_fake import messages
from k8s_bridge.sandbox.ray_fake.driver import Driver
from k8s_bridge.sandbox.ray_fake.messages import Death
from k8s_bridge.sandbox.ray_fake.model import JobStatus, NodeState, RayJob, RayNode, demand_of
from k8s_bridge.sandbox.ray_fake.racing import first
from k8s_bridge.sandbox.ray_fake.start import StartOptions

NODE_ID = "ray.io/node-id"
START_TIMEOUT = 900.0
"""RAY_JOB_START_TIMEOUT_SECONDS, where nobody sets it."""


class RayHead:
    """A running head. `tasks`, `actors` and `placement_groups`: rows of the State API, for tests to write."""

    def __init__(
        self, clock: Clock, *, timing: Timing, start_timeout: float = START_TIMEOUT, seed: int = 0
    ) -> None:
        self.nodes: dict[str, RayNode] = {}
        self.jobs: dict[str, RayJob] = {}
        self.tasks: list[Json] = []
        self.actors: list[Json] = []
        self.placement_groups: list[Json] = []
        self.token = ""
        """What it wants to be asked with; nobody is asked for anything without one."""
        self.down = asyncio.Event()
        """Its process has ended, be it for good or until another one takes over what it knew."""
        self.gone = asyncio.Event()
        """Its process has ended, and all that it knew is lost."""
        self._clock = clock
        self._timing = timing
        self._start_timeout = start_timeout
        self._random = random.Random(seed)  # noqa: S311 - ids only have to differ
        self._driver = Driver(clock, timing=timing)
        self._lives: set[asyncio.Task[None]] = set()

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now().timestamp()

    def join(self, options: StartOptions, *, ip: str) -> RayNode:
        """A raylet has registered."""
        node_id = f"{self._random.getrandbits(224):056x}"
        labels = {NODE_ID: node_id} | dict(options.labels)
        node = RayNode(
            node_id=node_id,
            ip=ip,
            head=options.head,
            total=options.resources,
            labels=labels,
            started=self.now,
        )
        self.nodes[node_id] = node
        self._place()
        return node

    def leave(self, node: RayNode) -> None:
        """A raylet has said goodbye, after its drain."""
        node.silent.set()
        self._bury(node, Death.DRAINED)

    def lose(self, node: RayNode, *, noticed: float, why: Death = Death.LOST) -> None:
        """A raylet has been killed; the head notices so many seconds later."""
        node.silent.set()
        self._spawn(self._miss(node, noticed, why))

    async def _miss(self, node: RayNode, noticed: float, why: Death) -> None:
        await self._clock.sleep(noticed)
        self._bury(node, why)

    def _bury(self, node: RayNode, why: Death) -> None:
        if node.state is NodeState.DEAD:
            return
        node.state, node.death, node.ended = NodeState.DEAD, why, self.now
        node.dead.set()

    def drain(self, node_id: str, *, only_idle: bool) -> bool:
        """No new work on the node; False when it is not alive, or only to be drained idle and is busy."""
        node = self.nodes.get(node_id)
        if node is None or not node.open or (only_idle and self.is_busy(node)):
            return False
        node.draining = True
        return True

    def is_busy(self, node: RayNode) -> bool:
        """Whether a driver or a task runs there."""
        drivers = any(job.node is node and not job.status.terminal for job in self.jobs.values())
        return drivers or any(t["node_id"] == node.node_id and t["state"] == "RUNNING" for t in self.tasks)

    async def idle(self, node: RayNode) -> None:
        """Return when nothing runs on a node (any more)."""
        while self.is_busy(node):
            await first(
                *(job.over.wait() for job in self.jobs.values() if job.node is node and not job.over.is_set())
            )

    async def silenced(self, job: RayJob) -> None:
        """Return when the node of a job that runs is gone."""
        while job.node is None:
            await job.placed.wait()
        await job.node.silent.wait()

    def submit(self, body: Json) -> str:
        """Take a job; its submission id. ValueError for an id that was given before."""
        name = body.get("submission_id") or f"raysubmit_{self._random.getrandbits(64):016x}"
        if name in self.jobs:
            raise ValueError(messages.exists(name))
        job = RayJob(
            submission_id=name,
            entrypoint=body["entrypoint"],
            demand=demand_of(body),
            started=self.now,
            metadata=body.get("metadata"),
            runtime_env=body.get("runtime_env"),
        )
        self.jobs[name] = job
        self._spawn(self._expire(job))
        self._place()
        return name

    def stop(self, submission_id: str) -> bool:
        """Ask a job to stop. A job that waits hears of it only when it has found a place."""
        job = self.jobs[submission_id]
        job.stop.set()
        return job.supervised

    def delete(self, submission_id: str) -> None:
        """Forget a job that is over. RuntimeError for another."""
        job = self.jobs[submission_id]
        if not job.status.terminal:
            raise RuntimeError(messages.not_terminal(submission_id, job.status))
        del self.jobs[submission_id]

    def pause(self) -> None:
        """The head's process ends; what it knew is kept elsewhere, and what runs on workers runs on."""
        self.down.set()
        for node in [one for one in self.nodes.values() if one.head]:
            node.silent.set()
            self._bury(node, Death.LOST)

    def resume(self) -> None:
        """Another process has taken over what it knew."""
        self.down = asyncio.Event()

    async def close(self) -> None:
        """The head's process ends, and with it everything it knew."""
        self.down.set()
        self.gone.set()
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)

    def _place(self) -> None:
        for job in [j for j in self.jobs.values() if j.status is JobStatus.PENDING and j.node is None]:
            if node := _room(job, self.nodes.values()):
                node.used.update(job.demand.amounts)
                job.node = node
                job.placed.set()
                self._spawn(self._run(job, node))

    async def _run(self, job: RayJob, node: RayNode) -> None:
        await self._driver.run(job, node, driver_id=f"{len(self.jobs) + 1:02x}000000")
        node.used.subtract(job.demand.amounts)
        self._place()

    async def _expire(self, job: RayJob) -> None:
        await self._clock.sleep(self._start_timeout)
        if job.status is JobStatus.PENDING:
            text = messages.start_timeout(self._start_timeout, amounts=bool(job.demand.amounts))
            self._driver.end(job, JobStatus.FAILED, message=text, error=messages.TIMEOUT)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._lives.add(task)
        task.add_done_callback(self._lives.discard)


def _room(job: RayJob, nodes: Iterable[RayNode]) -> RayNode | None:
    return next((node for node in nodes if job.demand.fits(node)), None)
