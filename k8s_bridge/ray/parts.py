"""The parts of a working Ray bridge: made together, run together, ended in order.

It owns lifetimes and wiring only. What is observed, decided and done is elsewhere.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Coroutine
from typing import Any

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.ray.act import Actor
from k8s_bridge.ray.addresses import Addresses
from k8s_bridge.ray.auditor import Auditor
from k8s_bridge.ray.controller import RayController
from k8s_bridge.ray.details import Details
from k8s_bridge.ray.enforcement import Enforcement
from k8s_bridge.ray.head import RayHead
from k8s_bridge.ray.kuberay import Versions
from k8s_bridge.ray.observe import Observer
from k8s_bridge.ray.reporter import Reporter
from k8s_bridge.ray.setup import Setup
from k8s_bridge.ray.sources import Sources
from k8s_bridge.ray.stages import Stages
from k8s_bridge.ray.tables import Tables
from k8s_bridge.ray.unit import Key, State
from k8s_bridge.runtime.backoff import Backoff
from k8s_bridge.runtime.claims import Claim
from k8s_bridge.runtime.loop import Loop
from k8s_bridge.runtime.queue import Queue
from k8s_bridge.runtime.reading import Reading, UnitGroup
from k8s_bridge.runtime.services import Services
from k8s_bridge.runtime.status import Status
from k8s_bridge.runtime.together import run_together

_WITHOUT_QUOTA = (State.HELD, State.CLUSTER, State.DENIED, State.QUEUED)


class Parts:
    """Made without I/O; `run` ends after `stop`."""

    def __init__(self, services: Services, mixing: WorkloadMixing, status: Status) -> None:
        self._name = name = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        self._services = services
        self._mixing = mixing
        self._setup = Setup(mixing)
        self._tables = tables = Tables()
        self._observer = Observer(tables, self._setup)
        meta = mixing.metadata
        self._sources = Sources(services.client, tables, namespace=meta.namespace, mixing=meta.name)
        self._versions = Versions(services.client, namespace=mixing.metadata.namespace, found=self._found)
        self._enforcement = Enforcement(services.client, namespace=meta.namespace, cluster=self._some_cluster)
        self._head = RayHead()
        addresses = Addresses(services.client, services.redactor)
        actor = Actor(
            kube=services.client,
            head=self._head,
            addresses=addresses,
            events=services.events,
            tables=tables,
            observer=self._observer,
            setup=lambda: self._setup,
            clock=time.time,
        )
        self._auditor = Auditor(
            head=self._head,
            addresses=addresses,
            events=services.events,
            tables=tables,
            setup=lambda: self._setup,
            may_write=services.may_write,
            counted=lambda leak: services.metrics.leaked(name, direction=leak.direction.value),
            clock=time.time,
        )
        stages = Stages(lambda stage, seconds: services.metrics.stage(name, stage=stage, seconds=seconds))
        self._controller = RayController(
            name=name,
            tables=tables,
            observer=self._observer,
            actor=actor,
            blocked=self._blocked,
            clock=time.time,
            entered=stages.entered,
        )
        self._queue: Queue[Key] = Queue(Backoff(random.random))
        self._loop = Loop(
            self._controller,
            self._queue,
            workers=services.settings.workers,
            may_write=services.may_write,
            clock=time.time,
            on_outcome=services.hooks(),
        )
        self._reporter = Reporter(
            status=status, tables=tables, observer=self._observer, enforcement=self._enforcement
        )
        self._stopping = asyncio.Event()
        tables.subscribe(self._queue.add)
        self._controller.on_again(self._queue.add)
        self._claim()
        self._take_over()

    def configure(self, mixing: WorkloadMixing) -> None:
        """Take another spec over, and look at every unit in its light."""
        self._mixing = mixing
        self._claim()
        self._take_over()

    def _claim(self) -> None:
        """Of two mixings that manage one cluster the older serves it."""
        meta, spec = self._mixing.metadata, self._mixing.spec.ray
        claim = Claim(
            cluster=f"RayClusters of {meta.namespace}",
            namespace=meta.namespace,
            partitions=frozenset(managed.name for managed in spec.managed_clusters) if spec else frozenset(),
            created=meta.creation_timestamp,
        )
        self._services.claims.make(self._name, claim, on_change=self._take_over)

    def _take_over(self) -> None:
        self._setup = Setup(self._mixing, elsewhere=self._services.claims.elsewhere(self._name))
        self._observer.configure(self._setup)
        self._reporter.configure(self._setup)
        self._loop.resync()

    def stop(self) -> None:
        """Begin a graceful end."""
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop`; raises what a part raised."""
        self._join()
        parts = {f"{self._name} {label}": part for label, part in self._coroutines().items()}
        await run_together(parts, stopping=self._stopping, end=self._end)

    def _coroutines(self) -> dict[str, Coroutine[Any, Any, None]]:
        return {
            "loop": self._loop.run(),
            "sources": self._sources.run(),
            "versions": self._versions.run(),
            "enforcement": self._enforcement.run(),
            "reporter": self._reporter.run(),
            "auditor": self._auditor.run(),
        }

    def _join(self) -> None:
        services, name = self._services, self._name
        services.health.add(name, self._loop.wedged)
        services.units.add(name, Details(self._controller, self._observer))
        services.metrics.gauges.watch(name, self._reading)

    async def _end(self, running: set[asyncio.Task[None]]) -> None:
        """Effects under way finish first; then nothing feeds them any more; then connections close."""
        services, name = self._services, self._name
        self._loop.stop()
        for part in (self._sources, self._versions, self._enforcement, self._reporter, self._auditor):
            part.stop()
        await asyncio.wait(running)
        services.claims.leave(name)
        await self._head.aclose()
        services.health.remove(name)
        services.units.remove(name)
        services.metrics.gauges.forget(name)

    def _found(self) -> None:
        self._observer.requeue = self._versions.requeue
        self._loop.wake()

    def _some_cluster(self) -> str:
        managed = (one.name for one in self._setup.spec.managed_clusters if self._setup.manages(one.name))
        return next(managed, "")

    def _blocked(self) -> str:
        missing = self._sources.missing()
        return f"{missing}: not listed yet" if missing else self._versions.unknown

    def _reading(self) -> Reading:
        states = self._controller.states()
        return Reading(
            units={UnitGroup(state=state.value): count for state, count in states.items()},
            held_jobs=sum(states[state] for state in _WITHOUT_QUOTA),
            oldest=self._controller.oldest(),
            ready=len(self._queue),
            delayed=self._queue.delayed,
            active=self._queue.active,
            blocked=self._blocked(),
            wedged=self._loop.wedged(),
        )
