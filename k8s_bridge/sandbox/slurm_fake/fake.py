"""FakeSlurm: slurmctld and slurmrestd in this process, over real HTTP, by a clock of your choice."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from typing import Any, Self

from starlette.applications import Starlette
from starlette.routing import Route

from k8s_bridge.sandbox.clock import Clock, SystemClock
from k8s_bridge.sandbox.slurm_fake import arrays, ending, node_admin, nodes, restart, scheduler, submission
from k8s_bridge.sandbox.slurm_fake.api import Api
from k8s_bridge.sandbox.slurm_fake.cluster import ROOT, Cluster, Settings
from k8s_bridge.sandbox.slurm_fake.faults import FaultRule, Faults
from k8s_bridge.sandbox.slurm_fake.identity import Keyring
from k8s_bridge.sandbox.slurm_fake.jobs import Job
from k8s_bridge.sandbox.slurm_fake.nodes import Node
from k8s_bridge.sandbox.slurm_fake.options import Script
from k8s_bridge.sandbox.slurm_fake.server import Server
from k8s_bridge.sandbox.slurm_fake.versions import RELEASES, records

_DAY = 86_400
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class FakeSlurm:
    """A cluster. Make it with `start`; `async with` stops it."""

    def __init__(self, *, settings: Settings, clock: Clock) -> None:
        self.cluster = Cluster(settings=settings, clock=clock)
        self._keyring = Keyring(secrets.token_bytes(32))
        self._api = Api(self.cluster, keyring=self._keyring)
        route = Route("/slurm/{version}/{rest:path}", self._api.handle, methods=_METHODS)
        self._server = Server(Starlette(routes=[route]))
        self._trying: dict[str, str] = {}
        self._time: asyncio.Task[None] | None = None
        full = RELEASES[settings.release].full
        self._template: Mapping[str, Any] = records(full[-1] if full else "v0.0.42")["job"]
        self.token = self.mint(ROOT)

    @classmethod
    async def start(cls, settings: Settings | None = None, *, clock: Clock | None = None) -> Self:
        """A running, empty cluster."""
        fake = cls(settings=settings or Settings(), clock=clock or SystemClock())
        fake._server.start()
        fake._time = asyncio.create_task(fake._pass_time())
        return fake

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def rest_url(self) -> str:
        """Base URL, on loopback."""
        return self._server.url

    @property
    def jobs(self) -> Mapping[int, Job]:
        """All rows by job id; look, do not change."""
        return self.cluster.jobs

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All rows by node name; look, do not change."""
        return self.cluster.nodes

    @property
    def requests(self) -> list[str]:
        """Every request so far, as `METHOD path`."""
        return self._api.requests

    @property
    def faults(self) -> Faults:
        """The faults of slurmrestd in force; may be changed at any time."""
        return self._api.faults

    def mint(self, user: str, *, lifetime: int = _DAY) -> str:
        """A token for a user; `lifetime` in seconds of wall-clock time, negative for one that has expired."""
        return self._keyring.mint(user, lifetime=lifetime)

    def submit(
        self, *, user: str = ROOT, run_time: float = 1.0, exit_code: int = 0, **description: Any
    ) -> int:
        """Submit a job, held unless `hold=False`; options by their REST names. The job id, or SlurmError.

        `run_time` is in seconds of the cluster's clock.
        """
        job = submission.submit(
            self.cluster,
            {"name": "job", "hold": True, **description},
            user=user,
            script=Script(run_time=run_time, exit_code=exit_code),
            template=self._template,
        )
        return job.job_id

    def submit_het(self, *components: Mapping[str, Any], run_time: float = 1.0, exit_code: int = 0) -> int:
        """Submit a heterogeneous job, held; the script runs on the first component. The id of that one."""
        ids = [self.submit(run_time=run_time, exit_code=exit_code, **one) for one in components]
        for offset, job_id in enumerate(ids):
            job = self.cluster.jobs[job_id]
            job.het_id, job.het_offset = ids[0], offset
            self.cluster.file(job)
        return ids[0]

    def cancel(self, job_id: int, *, user: str = ROOT, task: int | None = None) -> None:
        """What scancel does, of an array with `task` to that one. Raises SlurmError."""
        if task is None:
            ending.cancel(self.cluster, job_id, user=user)
        else:
            arrays.cancel_task(self.cluster, job_id, task=task)

    def hold(self, job_id: int) -> None:
        """What root's `scontrol hold` does. Raises SlurmError."""
        arrays.hold(self.cluster, job_id)

    def release(self, job_id: int) -> None:
        """What root's `scontrol release` does. Raises SlurmError."""
        arrays.release(self.cluster, job_id)

    def requeue(self, job_id: int, *, task: int | None = None) -> None:
        """What root's `scontrol requeue` does. Raises SlurmError."""
        arrays.requeue(self.cluster, job_id, task=task)

    def register_node(self, name: str, conf: str) -> Node:
        """A slurmd starts with `--conf` such as "CPUs=4 RealMemory=4000 Features=a Gres=gpu:4".

        While slurmctld is away it goes on trying. Raises ValueError for a conf that slurmd refuses.
        """
        if self.cluster.up:
            return node_admin.register(self.cluster, name, conf)
        self._trying[name] = conf
        return nodes.from_conf(name, conf, now=self.cluster.now)

    def lose_node(self, name: str) -> None:
        """A slurmd and its jobs end, and nobody tells slurmctld: what a deleted pod looks like."""
        self._trying.pop(name, None)
        node_admin.lose(self.cluster, name)

    def inject(self, *rules: FaultRule, seed: int = 0) -> None:
        """From now on exactly these faults are in force; none ends them."""
        self._api.faults = Faults(rules, seed)

    def stop_controller(self) -> None:
        """Take slurmctld away: slurmrestd says so, and nothing starts or ends."""
        self.cluster.up = False

    def start_controller(self, *, clean: bool = False) -> None:
        """Let slurmctld come back with its state, or with none."""
        restart.restart(self.cluster, clean=clean)
        while self._trying:
            node_admin.register(self.cluster, *self._trying.popitem())

    def restart(self, *, clean: bool = False) -> None:
        """Both at once."""
        self.stop_controller()
        self.start_controller(clean=clean)

    def tick(self) -> None:
        """Bring the cluster up to the present now, without waiting for its own turn."""
        if self.cluster.up:
            scheduler.tick(self.cluster)

    async def stop(self) -> None:
        """End the server and the passing of time."""
        if self._time:
            self._time.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._time
        await self._server.stop()

    async def _pass_time(self) -> None:
        while True:
            self.tick()
            await self.cluster.clock.sleep(self.cluster.settings.schedule_interval)
