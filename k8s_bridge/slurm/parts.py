"""The parts of a connected session: made together, run together, ended in order.

It owns lifetimes and wiring only. What is observed, decided and done is elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.core import naming
from k8s_bridge.core.errors import BridgeError, Conflict
from k8s_bridge.kube.store import Delta
from k8s_bridge.runtime.backoff import Backoff
from k8s_bridge.runtime.loop import Loop
from k8s_bridge.runtime.queue import Queue
from k8s_bridge.runtime.services import Services
from k8s_bridge.runtime.status import Status
from k8s_bridge.runtime.together import run_together
from k8s_bridge.slurm import neighbours, relief
from k8s_bridge.slurm.act import Actor
from k8s_bridge.slurm.client import SlurmClient
from k8s_bridge.slurm.controller import SlurmController
from k8s_bridge.slurm.credentials import Credentials
from k8s_bridge.slurm.details import Details
from k8s_bridge.slurm.eligibility import Availability
from k8s_bridge.slurm.farewell import Farewell
from k8s_bridge.slurm.lookout import Lookout
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.pace import pause
from k8s_bridge.slurm.planner import Planner
from k8s_bridge.slurm.policy import Policies
from k8s_bridge.slurm.poller import Cycle, Poller
from k8s_bridge.slurm.readings import Readings
from k8s_bridge.slurm.report import SlurmHealth
from k8s_bridge.slurm.reporter import Reporter
from k8s_bridge.slurm.resolver import Resolver
from k8s_bridge.slurm.slurm_health import HealthWatch
from k8s_bridge.slurm.sources import Sources
from k8s_bridge.slurm.stages import Stages
from k8s_bridge.slurm.standing import Standing
from k8s_bridge.slurm.tables import make_tables
from k8s_bridge.slurm.tally import Tally
from k8s_bridge.slurm.unit import Key


class Parts:
    """The parts of a connected session."""

    def __init__(
        self,
        services: Services,
        mixing: WorkloadMixing,
        status: Status,
        client: SlurmClient,
        credentials: Credentials,
    ) -> None:
        name = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        self._services, self._name = services, name
        self._client, self._credentials = client, credentials
        meta = mixing.metadata
        self._tables = tables = make_tables(mixing=naming.mixing_feature(meta.namespace, meta.name))
        self._standing = Standing(services.claims, mixing, on_change=self._take_over)
        self._policies = policies = Policies(mixing)
        self._planner = Planner(policies)
        self._observer = Observer(tables, policies=policies, planner=self._planner.plan)
        self._sources = Sources(
            services.client, tables, namespace=mixing.metadata.namespace, mixing=mixing.metadata.name
        )
        actor = Actor(
            kube=services.client,
            slurm=client,
            events=services.events,
            tables=tables,
            namespace=mixing.metadata.namespace,
            render=self._render,
            clock=time.time,
        )
        self._controller = SlurmController(
            name=name,
            tables=tables,
            observer=self._observer,
            actor=actor,
            stages=Stages(
                lambda stage, seconds: services.metrics.stage(name, stage=stage, seconds=seconds),
                lambda seconds: services.metrics.released(name, seconds=seconds),
            ),
            blocked=self._blocked,
            monotonic=time.monotonic,
            clock=time.time,
        )
        self._tally = tally = Tally(services.metrics, name)
        self._queue: Queue[Key] = Queue(Backoff(random.random))
        self._loop = Loop(
            self._controller,
            self._queue,
            workers=mixing.spec.create_workers,
            may_write=services.may_write,
            clock=time.time,
            on_outcome=(*services.hooks(), tally),
        )
        self._poller = Poller(
            client,
            tables.jobs,
            tables.nodes,
            interest=self._controller.followed,
            pace=self._pace,
            period=mixing.spec.poll_interval.total_seconds(),
            on_cycle=self._polled,
        )
        self._resolver = Resolver(client, tables.jobs, missing=self._controller.missing)
        self._health = HealthWatch(credentials.token(), interval=mixing.spec.poll_interval.total_seconds())
        self._asking: asyncio.Task[None] | None = None
        self._lookout = Lookout(
            client,
            shared=lambda: any(self._observer.neighbours.sharers()),
            seen=self._available,
            clock=time.monotonic,
        )
        self._reporter = Reporter(
            status=status,
            events=services.events,
            tables=tables,
            observer=self._observer,
            controller=self._controller,
            health=self._slurm_health,
            ping=lambda: self._health.ping,
            may_write=services.may_write,
            clock=time.time,
        )
        self._farewell = Farewell(
            services.client,
            left=self._left,
            may_write=services.may_write,
            failed=lambda error: services.log.warning(
                "finalizer_not_written", workloadmixing=name, why=str(error)
            ),
        )
        tables.subscribe(self._queue.add)
        neighbours.subscribe(tables, self._observer.neighbours, self._queue.add)
        relief.subscribe(tables, self._observer.relief, self._queue.add)
        tables.jobs.subscribe(self._removed)
        self._controller.on_again(self._queue.add)
        self._controller.on_wrote(self._poller.written)
        self._controller.on_moving(self._poller.repace)
        self._controller.on_entered(tally.entered)
        self._readings = Readings(
            tables=tables,
            observer=self._observer,
            controller=self._controller,
            queue=self._queue,
            loop=self._loop,
            poller=self._poller,
            health=self._health,
            blocked=self._blocked,
            clock=time.time,
        )
        self.configure(mixing)

    def configure(self, mixing: WorkloadMixing) -> None:
        """Take a policy over, and look at every unit in its light."""
        self._standing.configure(mixing)
        self._farewell.configure(mixing)
        self._mixing = mixing
        self._take_over()

    def _take_over(self) -> None:
        """Make everything anew that rests on the spec, or on what other mixings serve."""
        standing = self._standing
        self._policies = Policies(self._mixing, elsewhere=standing.elsewhere())
        self._planner = Planner(self._policies, cluster=standing.cluster)
        self._observer.configure(self._policies, self._planner.plan)
        for queue, limit in self._policies.limits().items():
            self._observer.turns.limit(queue, limit)
        self._reporter.configure(self._policies, self._planner)
        self._readings.configure(self._policies)
        self._tally.configure(self._policies.limits())
        self._loop.resync()

    async def run(self, stopping: asyncio.Event) -> None:
        """Until `stopping`; raises what a part raised."""
        self._join()
        parts = {f"{self._name} {label}": part for label, part in self._coroutines().items()}
        await run_together(parts, stopping=stopping, end=self._end)

    def _coroutines(self) -> dict[str, Coroutine[Any, Any, None]]:
        return {
            "loop": self._loop.run(),
            "sources": self._sources.run(),
            "poller": self._poller.run(),
            "reporter": self._reporter.run(),
            "farewell": self._farewell.run(),
            "credentials": self._credentials.run(self._health.bad),
        }

    def _join(self) -> None:
        services, name = self._services, self._name
        services.health.add(name, self._loop.wedged)
        services.units.add(name, Details(self._controller, self._observer))
        services.nudges.add(name, self._poller.nudge)
        services.metrics.gauges.watch(name, self._readings)

    async def _end(self, running: set[asyncio.Task[None]]) -> None:
        """Effects under way finish first; then nothing feeds them any more; then connections close."""
        services, name = self._services, self._name
        self._loop.stop()
        for part in (self._sources, self._poller, self._reporter, self._farewell, self._credentials):
            part.stop()
        await asyncio.wait(running)
        self._standing.leave()
        await self._client.close()
        services.health.remove(name)
        services.units.remove(name)
        services.nudges.remove(name)
        services.metrics.gauges.expect(name)

    def _removed(self, delta: Delta[Job]) -> None:
        """The poller removes a job only when slurmctld said that there is none, or that a task is over."""
        if delta.new is None and delta.old is not None and delta.old.unit_id == delta.old.job_id:
            self._controller.missing(delta.old.job_id, delta.old)

    def _pace(self) -> float:
        interval = self._policies.mixing.spec.poll_interval.total_seconds()
        last = self._poller.last
        ran, stood = (time.time() - at for at in (self._controller.last_start, self._controller.last_move))
        took = last.finished - last.started
        return pause(self._controller.pace, took=took, ran=ran, stood=stood, interval=interval)

    def _polled(self, cycle: Cycle) -> None:
        if cycle.error is not None:
            self._health.bad(cycle.error)
            return
        self._health.good()
        self._controller.polled(started=cycle.started, lost=self._poller.lost)
        self._resolver.resolve(self._controller.unknown())
        self._lookout.glance(interval=self._policies.mixing.spec.poll_interval.total_seconds())
        self._loop.wake()
        if self._health.ping is None and (self._asking is None or self._asking.done()):
            self._asking = asyncio.get_running_loop().create_task(self._ask_who())

    def _available(self, available: Availability) -> None:
        """What jobs share has changed: a partition concerns any of them."""
        before, self._observer.neighbours.available = self._observer.neighbours.available, available
        if before.partitions != available.partitions:
            self._loop.resync()
        for job_id in tuple(self._observer.neighbours.sharers()):
            self._queue.add(job_id)

    async def _ask_who(self) -> None:
        with contextlib.suppress(BridgeError):
            self._health.ping = ping = await self._client.ping()
            self._standing.known(ping)
            self._take_over()

    def _left(self) -> int:
        """JobSets and Slurm nodes that are still there; as long as that is not known, one."""
        if self._blocked():
            return 1
        return len(self._tables.jobs_with_jobsets()) + len(self._tables.jobs_with_nodes())

    def _render(self, job_id: int, slot: int | None) -> Mapping[str, Any]:
        job = self._observer.speaker(job_id)
        route = self._policies.route(job) if job else None
        if job is None or route is None:
            raise Conflict(f"job {job_id} is gone or not managed any more")
        self._observer.neighbours.asks(job_id)
        parts = self._observer.components(job_id)
        if parts:
            return self._planner.render_components(parts, route)
        return self._planner.render(job, route, slot=slot)

    def _blocked(self) -> str:
        missing = self._sources.missing()
        if missing:
            return f"{missing}: not listed yet"
        stranded = self._standing.stranded(self._tables.jobsets.values())
        return str(stranded or "") or self._health.stale() or self._health.unknown()

    def _slurm_health(self) -> SlurmHealth:
        health, stranded = self._health.now(), self._standing.stranded(self._tables.jobsets.values())
        return replace(health, reason=stranded.reason, error=str(stranded)) if stranded else health
