"""Keeps the WorkloadMixing's condition about Ray true: looks every few seconds, writes what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from api.v1alpha1 import ConditionType
from k8s_bridge.core.conditions import Finding
from k8s_bridge.core.preflight import Trouble
from k8s_bridge.ray.enforcement import UNHELD, Enforcement
from k8s_bridge.ray.observe import Observer
from k8s_bridge.ray.setup import Setup
from k8s_bridge.ray.tables import Tables
from k8s_bridge.ray.unit import Requeue
from k8s_bridge.runtime.status import Status
from k8s_bridge.runtime.waiting import wait

_SECONDS = 2.0


class Reporter:
    """Reports for one bridge."""

    def __init__(
        self, *, status: Status, tables: Tables, observer: Observer, enforcement: Enforcement
    ) -> None:
        self._status = status
        self._tables = tables
        self._observer = observer
        self._enforcement = enforcement
        self._setup: Setup | None = None
        self._wake = asyncio.Event()
        self._stopping = False

    def configure(self, setup: Setup) -> None:
        """Report on another spec from now on."""
        self._setup = setup
        self._wake.set()

    async def run(self) -> None:
        """Report until `stop`."""
        while not self._stopping:
            await wait(self._wake, seconds=_SECONDS)
            if self._setup is not None and not self._stopping:
                self._status.report([self._finding(self._setup)], {})

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    def _finding(self, setup: Setup) -> Finding:
        found = sorted({trouble for trouble in self._troubles(setup) if trouble[0]})
        if not found:
            return Finding(type=ConditionType.RAY_READY, status="True", reason="Ready")
        message = "; ".join(text for _, text in found)
        return Finding(type=ConditionType.RAY_READY, status="False", reason=found[0][0], message=message)

    def _troubles(self, setup: Setup) -> Iterator[Trouble]:
        if self._enforcement.lacking:
            yield UNHELD
        if self._observer.requeue is Requeue.IMPOSSIBLE:
            why = "it deletes the shared cluster when a job is run again, so preempted jobs are not; use 1.6"
            yield "KubeRayTooOld", f"this KubeRay is older than 1.6: {why}"
        for managed in setup.spec.managed_clusters:
            if other := setup.elsewhere.get(managed.name):
                yield "Conflicting", f"RayCluster {managed.name} is served by {other}, which is older"
            if f"{setup.namespace}/{managed.name}" not in self._tables.clusters:
                yield "RayClusterMissing", f"RayCluster {setup.namespace}/{managed.name} does not exist"
        look, preferred = self._observer.troubles, setup.spec.worker.preferred_topology
        for pool in setup.spec.pool_mappings:
            queue = pool.local_queue or setup.spec.local_queue
            yield from (
                look.queue(queue),
                look.priority_class(pool.workload_priority_class),
                look.topology(queue, preferred),
            )
