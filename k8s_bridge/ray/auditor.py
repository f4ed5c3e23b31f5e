"""Looks now and then whether jobs keep to their own workers: confinement is cooperation, so it is watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from api.ray_views import RayCluster, RayJob
from api.v1alpha1.ray import Confinement, LeakAudit
from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.ray import names
from k8s_bridge.ray.addresses import Addresses
from k8s_bridge.ray.audit import Direction, Leak, leaks
from k8s_bridge.ray.head import Address, RayHead
from k8s_bridge.ray.owners import Owners
from k8s_bridge.ray.release import Release
from k8s_bridge.ray.setup import Setup
from k8s_bridge.ray.tables import CLUSTER, JOB, Tables
from k8s_bridge.runtime.waiting import wait

SECONDS = 20.0
"""Between two looks."""
_TOLD = 5
"""Leaks of one job that are told one by one at each look."""


class Auditor:
    """`counted` is told of each leak. Raises nothing: what cannot be asked is asked again."""

    def __init__(  # noqa: PLR0913  # its collaborators, by keyword
        self,
        *,
        head: RayHead,
        addresses: Addresses,
        events: EventRecorder,
        tables: Tables,
        setup: Callable[[], Setup],
        may_write: Callable[[], bool],
        counted: Callable[[Leak], None],
        clock: Callable[[], float],
    ) -> None:
        self._head = head
        self._addresses = addresses
        self._events = events
        self._tables = tables
        self._setup = setup
        self._may_write = may_write
        self._counted = counted
        self._clock = clock
        self._wake = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Look until `stop`."""
        while not self._stopping:
            await wait(self._wake, seconds=SECONDS)
            if not self._stopping and self._may_write():
                await self._round()

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    async def _round(self) -> None:
        spec = self._setup().spec
        if spec.leak_audit is LeakAudit.OFF or spec.confinement is Confinement.NONE:
            return
        for cluster in self._tables.clusters.values():
            if not self._setup().manages(cluster.metadata.name):
                continue
            jobs = dict(self._released(cluster))
            if not jobs:
                continue
            try:
                address = await self._addresses.of(cluster)
                if address is not None:
                    await self._look(address, jobs)
            except BridgeError:
                continue  # the head is away: nothing runs, and nothing leaks

    def _released(self, cluster: RayCluster) -> Iterator[tuple[str, RayJob]]:
        """The jobs that were let go, each by the token of its workers."""
        for job in self._tables.jobs.by(CLUSTER, cluster.metadata.name):
            release = Release.parse(job.metadata.annotations.get(names.RELEASED, ""))
            jobset = next(iter(self._tables.jobsets.by(JOB, job.metadata.uid)), None)
            token = jobset.metadata.annotations.get(names.TOKEN, "") if jobset else ""
            if release is not None and token:
                yield token, job

    async def _look(self, address: Address, jobs: dict[str, RayJob]) -> None:
        head = self._head
        placed = [*await head.running_tasks(address), *await head.living_actors(address)]
        found = leaks(
            nodes=await head.nodes(address),
            submissions=await head.submissions(address),
            placed=placed,
            token_of=Owners(jobs),
        )
        told: dict[str, int] = {}
        for leak in found:
            if leak.token not in jobs or not self._matters(leak):
                continue
            self._counted(leak)
            told[leak.token] = told.get(leak.token, 0) + 1
            if told[leak.token] <= _TOLD:
                await self._tell(leak, jobs[leak.token])
            if leak.direction is Direction.IN and leak.submission:
                await self._end(address, leak.submission)

    def _matters(self, leak: Leak) -> bool:
        """A job that is confined by its driver alone may use what others share."""
        return leak.direction is Direction.IN or self._setup().spec.confinement is Confinement.LABELS

    async def _tell(self, leak: Leak, job: RayJob) -> None:
        whose = leak.submission or "somebody who did not come by the jobs API"
        text = (
            f"{leak.name or 'work'} of {whose} runs on this job's workers"
            if leak.direction is Direction.IN
            else f"its {leak.name or 'work'} runs on workers that are not its own"
        )
        event = Event(ref=ObjectRef.to(job), type=EventType.WARNING, reason="Leak", message=text)
        await self._events.emit(event, now=datetime.fromtimestamp(self._clock(), UTC))

    async def _end(self, address: Address, submission: str) -> None:
        if self._setup().spec.leak_audit is LeakAudit.KILL:
            await self._head.stop(address, submission)
