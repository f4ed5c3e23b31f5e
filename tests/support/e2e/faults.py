"""Faults of the sandbox's table that real components can have, too: each strikes jobs in three stages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from k8s_bridge.sandbox.faults import FaultEngine, named
from k8s_bridge.sandbox.faults.processes import Processes
from k8s_bridge.sandbox.world import JobRequest, World
from support.e2e.keeper import bridge_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

LASTS = 4.0
LONG = 8.0
"""Seconds of the job that runs when the fault begins."""
RUNS_AGAIN: Mapping[str, bool] = {
    "slurmctld-restarts": False,
    "slurmctld-away": False,
    "pod-deleted": True,
    "pod-vanishes": True,
    "machine-drained": True,
    "preempted": True,
    "queue-held": False,
    "queue-drained": True,
    "clusterqueue-drained": True,
    "jobset-deleted": True,
    "workload-deleted": True,
    "workload-deactivated": True,
    "bridge-killed": False,
    "bridge-restarted": False,
    "bridge-frozen": False,
    "two-leaders": False,
}
"""Whether the running job loses its nodes, as docs/faults.md says."""


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", RUNS_AGAIN)
async def test_every_job_completes(world: World, name: str):
    running = await world.sbatch(JobRequest(nodes="2", ntasks=2, seconds=LONG))
    await world.until_state(running, "RUNNING")
    waiting = await world.sbatch(JobRequest(ntasks=8, seconds=0.5))
    await world.until(lambda: world.workload(waiting), what="the second is queued")
    faults = FaultEngine(world, bridges=Processes(world, first=bridge_of(world)))
    coming = await world.sbatch(JobRequest(seconds=0.5))

    assert await faults.begin(named(name), victim=running)
    await asyncio.sleep(LASTS)
    await faults.end_all()

    for job_id in (running, waiting, coming):
        await world.until_state(job_id, "COMPLETED", seconds=60)
    assert bool(world.jobs[running].restarts) is RUNS_AGAIN[name]
    assert [world.jobs[job_id].restarts for job_id in (waiting, coming)] == [0, 0]
