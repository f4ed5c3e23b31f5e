"""Joins intake, supervisor and statuses: from a revision of a WorkloadMixing to a bridge that runs it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.core.conditions import Finding
from k8s_bridge.kube.store import Delta, Table
from k8s_bridge.runtime.intake import Intake, Verdict
from k8s_bridge.runtime.logging import SupervisorLog
from k8s_bridge.runtime.services import BridgeFactory, Services
from k8s_bridge.runtime.sources import MixingObject, TableSource
from k8s_bridge.runtime.status import Status
from k8s_bridge.runtime.supervisor import Change, Report, RunningBridge, Supervisor


class Roster:
    """All WorkloadMixings of this process, their bridges and their statuses."""

    def __init__(self, services: Services, factory: BridgeFactory) -> None:
        self._services = services
        self._factory = factory
        self._log = SupervisorLog(services.log)
        self._statuses: dict[str, tuple[Status, asyncio.Task[None]]] = {}
        self._supervisor: Supervisor[WorkloadMixing] = Supervisor(
            self._build, report=self._report, random=random.random
        )
        self.intake = Intake(services.settings.gates, on_change=self._want, on_verdict=self._verdict)

    def follow(self, table: Table[MixingObject]) -> None:
        """Serve the custom resources in `table`."""
        table.subscribe(self._seen)
        TableSource(table, self.intake, only=self._services.settings.workloadmixing)

    async def stop(self) -> None:
        """Stop all bridges, then the status writers."""
        await self._supervisor.stop()
        tasks = [task for _, task in self._statuses.values()]
        for status, _ in self._statuses.values():
            status.stop()
        if tasks:
            await asyncio.wait(tasks)

    def status(self, name: str) -> Status:
        """The status writer of `name`; it writes once the object has been seen."""
        if name not in self._statuses:
            status = Status(
                self._services.client.patch,
                ready=self._services.settings.product.ready,
                may_write=self._services.may_write,
                clock=time.time,
                random=random.random,
                failed=lambda error: self._services.log.error(
                    "status_not_written", workloadmixing=name, why=str(error)
                ),
            )
            task = asyncio.get_running_loop().create_task(status.run(), name=f"status {name}")
            self._statuses[name] = (status, task)
            self._services.metrics.gauges.judge(name, status.findings)
        return self._statuses[name][0]

    def _want(self, mixings: Mapping[str, WorkloadMixing]) -> None:
        self._services.claims.keep(mixings.keys())
        self._supervisor.want(mixings)

    def _seen(self, delta: Delta[MixingObject]) -> None:
        if self._services.settings.workloadmixing not in ("", delta.key):
            return
        if delta.new is not None:
            self.status(delta.key).seen(delta.new)
        elif delta.key in self._statuses:
            self._statuses.pop(delta.key)[0].stop()
            self._services.metrics.gauges.acquit(delta.key)

    def _build(self, mixing: WorkloadMixing) -> RunningBridge[WorkloadMixing]:
        name = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        return self._factory(self._services, mixing, self.status(name))

    def _verdict(self, verdict: Verdict) -> None:
        status = self.status(verdict.name)
        if not verdict.problems:
            status.accept()
            return
        status.refuse(verdict.problems, kept=verdict.kept)
        self._services.log.error(
            "spec_refused",
            workloadmixing=verdict.name,
            last_good_in_force=verdict.kept,
            problems=[str(problem) for problem in verdict.problems],
        )

    def _report(self, report: Report) -> None:
        if report.change is Change.CRASHED:
            text = f"the bridge crashed ({type(report.error).__name__}) and starts again; its log says why"
            ready = self._services.settings.product.ready
            crashed = Finding(type=ready, status="False", reason="Crashed", message=text)
            self.status(report.name).report([crashed], {})
        self._log(report)
        self._services.metrics.report(report)
        self._services.recent.report(report)
