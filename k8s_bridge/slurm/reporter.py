"""Keeps the WorkloadMixing's status true: looks at what was observed every few seconds, writes what changed.

Each condition that turns False, and each that heals, is an Event on the WorkloadMixing as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.core.conditions import Finding
from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.core.rendering import TemplateError
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.runtime.status import Status
from k8s_bridge.runtime.waiting import wait
from k8s_bridge.slurm import impostors
from k8s_bridge.slurm.controller import SlurmController
from k8s_bridge.slurm.jobset import check_template
from k8s_bridge.slurm.model import Ping
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.planner import Planner
from k8s_bridge.slurm.policy import Policies, Route
from k8s_bridge.slurm.report import SlurmHealth, counts, findings, is_good
from k8s_bridge.slurm.tables import Tables

SECONDS = 2.0
_POLL_GRAIN = 60.0
"""lastSuccessfulPoll moves in steps of this many seconds: a write per poll would be noise."""


class Reporter:
    """Reports for one session; `health` and `ping` are asked each time."""

    def __init__(  # noqa: PLR0913  # its collaborators, by keyword
        self,
        *,
        status: Status,
        events: EventRecorder,
        tables: Tables,
        observer: Observer,
        controller: SlurmController,
        health: Callable[[], SlurmHealth],
        ping: Callable[[], Ping | None],
        may_write: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._may_write = may_write
        self._status = status
        self._events = events
        self._tables = tables
        self._observer = observer
        self._controller = controller
        self._health = health
        self._ping = ping
        self._clock = clock
        self._before: dict[str, Finding] = {}
        self._told: frozenset[str] = frozenset()
        self._stopping = False
        self._wake = asyncio.Event()
        self._policies: Policies | None = None
        self._ref: ObjectRef | None = None
        self._template = ""

    def configure(self, policies: Policies, planner: Planner) -> None:
        """Report on another spec from now on."""
        self._policies = policies
        self._ref = _reference(policies.mixing)
        self._template = _template_trouble(policies, planner)
        self._wake.set()

    async def run(self) -> None:
        """Report until `stop`."""
        while not self._stopping:
            await self._once()
            await wait(self._wake, seconds=SECONDS)

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    async def _once(self) -> None:
        if self._policies is None:
            return
        routes = tuple(self._routes())
        found = findings(
            self._health(),
            queues=map(self._observer.troubles.of_queue, routes),
            classes=map(self._observer.troubles.of_class, routes),
            topologies=map(self._observer.troubles.of_topology, routes),
            template=self._template,
            conflict=self._policies.conflict(),
            guarded=self._controller.guarded,
            leaving=self._policies.leaving,
            notes=(*self._policies.without_effect(), *impostors.note(self._tables.impostors())),
        )
        self._status.report(found, self._fields())
        if self._may_write():
            await self._tell(found)
            await self._tell_of_impostors()

    async def _tell_of_impostors(self) -> None:
        """Once for each: on the JobSet itself."""
        there = {jobset.metadata.uid: jobset for jobset in self._tables.impostors()}
        for uid in there.keys() - self._told:
            await self._events.emit(impostors.warning(there[uid]), now=self._now())
        self._told = frozenset(there)

    async def _tell(self, found: tuple[Finding, ...]) -> None:
        for finding in found:
            before = self._before.get(finding.type)
            self._before[finding.type] = finding
            if self._ref is None or (before is None and is_good(finding)):
                continue
            if before and (before.status, before.reason) == (finding.status, finding.reason):
                continue
            kind = EventType.NORMAL if is_good(finding) else EventType.WARNING
            message = f"{finding.type}: {finding.message or finding.reason}"
            event = Event(ref=self._ref, type=kind, reason=finding.reason, message=message)
            await self._events.emit(event, now=self._now())

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _routes(self) -> Iterator[Route]:
        assert self._policies is not None
        for mapping in self._policies.mixing.spec.partition_mappings:
            queues, classes = self._policies.routes()[mapping.partition_name]
            for queue in sorted(queues):
                for name in sorted(classes):
                    yield Route(mapping=mapping, queue=queue, priority_class=name)

    def _fields(self) -> dict[str, Any]:
        assert self._policies is not None
        names = [mapping.partition_name for mapping in self._policies.mixing.spec.partition_mappings]
        fields = counts(self._controller.census.groups(), nodes=self._nodes(names))
        ping, health = self._ping(), self._health()
        if ping is not None:
            fields["slurmVersion"] = ping.release
            fields["slurmApiVersion"] = ping.api_version
            fields["slurmClusterName"] = ping.cluster
        if health.last_good:
            fields["lastSuccessfulPoll"] = _time(health.last_good // _POLL_GRAIN * _POLL_GRAIN)
        if health.token_expires is not None:
            fields["tokenExpires"] = _time(health.token_expires)
        return fields

    def _nodes(self, partitions: list[str]) -> dict[str, int]:
        found = dict.fromkeys(partitions, 0)
        for job_id in self._tables.jobs_with_nodes():
            job = self._tables.jobs.get(str(job_id))
            if job is not None and job.partition in found:
                found[job.partition] += len(self._tables.nodes_of(job_id))
        return found


def _reference(mixing: WorkloadMixing) -> ObjectRef | None:
    meta = mixing.metadata
    if not meta.uid:
        return None
    return ObjectRef(
        api_version=mixing.api_version,
        kind=mixing.kind,
        plural="workloadmixings",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
    )


def _template_trouble(policies: Policies, planner: Planner) -> str:
    troubles = []
    for index, mapping in enumerate(policies.mixing.spec.partition_mappings):
        try:
            check_template(planner.policy(Route(mapping=mapping, queue="q", priority_class="c")))
        except TemplateError as error:
            troubles.append(f"spec.partitionMappings[{index}].{error}")
    return "; ".join(troubles)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
