"""The whole process of `k8s-bridge run`: starts the parts, waits, and ends them in the right order.

Order of the end: bridges (their effects finish), statuses, the lease (a standby takes over at once), watches,
connections, and the HTTP server last, so that probes get an answer until then.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.kube.lease import LIMITS, LeaderLease, Role
from k8s_bridge.kube.reflector import Reflector
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.kube.versions import table_of
from k8s_bridge.runtime import memory
from k8s_bridge.runtime.access import Access
from k8s_bridge.runtime.claims import Claims
from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.logging import Logger
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.recent import Recent
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.roster import Roster
from k8s_bridge.runtime.services import BridgeFactory, Nudges, Services
from k8s_bridge.runtime.settings import Bind, Election, Settings
from k8s_bridge.runtime.sources import FileSource, MixingObject
from k8s_bridge.runtime.turn import ALONE, Turn
from k8s_bridge.runtime.units import Units


class Process:
    """One instance. Construct it inside the event loop; SettingsError when the HTTP address is taken."""

    def __init__(
        self,
        settings: Settings,
        factory: BridgeFactory,
        *,
        server: ApiServer,
        log: Logger,
        redactor: Redactor,
    ) -> None:
        self._settings = settings
        self._namespace = settings.lease_namespace or server.namespace
        self._own_namespace = server.namespace
        self._log = log
        identity = f"{socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}"
        self._metrics = Metrics(self._may_write, prefix=settings.product.metrics)
        self._client = KubeClient(server, observer=self._metrics.kube, may_write=self._may_write)
        self._lease_client = KubeClient(server, limits=LIMITS, observer=self._metrics.kube)
        self._lease = LeaderLease(
            self._lease_client,
            namespace=self._namespace,
            name=settings.lease_name or settings.product.lease,
            identity=identity,
            on_change=self._role_changed,
        )
        self._health = Health()
        self._units = Units()
        self._nudges = Nudges()
        recent = Recent(time.time)
        services = Services(
            settings=settings,
            client=self._client,
            events=EventRecorder(self._client, component=settings.product.name, instance=identity),
            log=log,
            metrics=self._metrics,
            redactor=redactor,
            health=self._health,
            units=self._units,
            nudges=self._nudges,
            recent=recent,
            claims=Claims(),
            may_write=self._may_write,
        )
        self._roster = Roster(services, factory)
        endpoints = Endpoints(
            health=self._health,
            metrics=self._metrics,
            units=self._units,
            nudge=self._nudges.nudge,
            turn=self._turn,
            recent=recent,
            access=Access(token_file=settings.http_token),
            product=settings.product,
        )
        self._http = HttpServer(application(endpoints), settings.http)
        self._reflectors: list[Reflector[MixingObject]] = []
        self._file: FileSource | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> Bind:
        """Where the HTTP server listens."""
        return self._http.address

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then end within seconds. Raises what a part raised: that ends it too."""
        memory.tune()
        self._log.info("started", http=f"{self.address.host}:{self.address.port}")
        stopping = self._spawn(_until(stop), "stop")
        self._spawn(self._http.run(), "http")
        if self._settings.election is Election.LEASE:
            self._spawn(self._lease.run(), "lease")
        self._feed()
        announcing = self._spawn(self._announce(), "announce")
        try:
            await self._watch_over(stopping)
        finally:
            stopping.cancel()
            announcing.cancel()
            await self._end()

    def _feed(self) -> None:
        if self._settings.config is not None:
            self._feed_file(self._settings.config)
            return
        for namespace in self._namespaces():
            table = table_of(MixingObject)
            self._roster.follow(table)
            reflector = Reflector(self._client, MixingObject, table, namespace=namespace)
            self._reflectors.append(reflector)
            self._spawn(reflector.run(), f"reflector {namespace}")

    def _feed_file(self, path: Path) -> None:
        self._file = FileSource(path, self._roster.intake, namespace=self._own_namespace)
        self._spawn(self._file.run(), "file")

    def _namespaces(self) -> tuple[str, ...]:
        if self._settings.workloadmixing:
            return (self._settings.workloadmixing.partition("/")[0],)
        return self._settings.namespaces or (self._own_namespace,)

    async def _announce(self) -> None:
        """Ready from the first sync on, as leader or standby."""
        for reflector in self._reflectors:
            await reflector.synced.wait()
        self._health.started()

    async def _watch_over(self, stopping: asyncio.Task[None]) -> None:
        while not stopping.done():
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            self._tasks -= done
            for task in done:
                task.result()

    async def _end(self) -> None:
        self._log.info("stopping")
        await self._roster.stop()
        await self._lease.release()
        for reflector in self._reflectors:
            reflector.stop()
        if self._file is not None:
            self._file.stop()
        await asyncio.gather(self._client.aclose(), self._lease_client.aclose())
        self._http.stop()
        await self._gather()
        self._log.info("stopped")

    async def _gather(self) -> None:
        """Wait for the parts; those that wait for something that cannot come any more are let go."""
        if not self._tasks:
            return
        _, left = await asyncio.wait(self._tasks, timeout=5.0)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    def _spawn(self, part: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(part, name=name)
        self._tasks.add(task)
        return task

    def _turn(self) -> Turn:
        if self._settings.election is Election.NONE:
            return ALONE
        return Turn(leads=self._lease.held(), leader=self._lease.holder())

    def _may_write(self) -> bool:
        return self._settings.election is Election.NONE or self._lease.held()

    def _role_changed(self, role: Role) -> None:
        self._log.info("lease", role=role.value)


async def _until(event: asyncio.Event) -> None:
    await event.wait()
