"""Jobs that a limit of their account keeps from starting keep nobody else from it."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet, unit

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import BATCH, NAMESPACE, NORMAL
from k8s_bridge.sandbox.world.fake_side import FakeSide

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]

LIMITED, FREE = "limited", "free"
IN_FLIGHT = 2
PARTITION = {"partitionName": BATCH, "workloadPriorityClass": NORMAL, "maxInFlight": IN_FLIGHT}
SPEC = {"partitionMappings": [PARTITION]}


async def test_jobs_beyond_a_limit_of_their_account_keep_no_other_account_waiting(make_world: MakeWorld):
    async with make_world(spec=SPEC) as world:
        allow_none(world)
        await world.bridge()
        limited = [await world.sbatch(JobRequest(account=LIMITED)) for _ in range(IN_FLIGHT)]
        for job_id in limited:
            await unit(world, job_id, "Parked", text="quota given back after AssocMaxJobsLimit", seconds=60)
            make_long(world, job_id)

        free = await world.sbatch(JobRequest(account=FREE, seconds=0.2))

        await world.until_state(free, "COMPLETED", seconds=60)
        assert [start.job_id for start in world.timeline.starts] == [free]
        for job_id in limited:
            await world.scancel(job_id)
        await quiet(world)


def make_long(world: World, job_id: int) -> None:
    """The pause is that of a job that was tried many times, and longer than this test."""
    mark = {naming.PARKED: f"{time.time() + 600:.0f} 9 AssocMaxJobsLimit"}
    patch = {"metadata": {"annotations": mark}}
    world.storage.patch(JOBSETS, NAMESPACE, naming.jobset_name(job_id), patch)


def allow_none(world: World) -> None:
    """No job of that account may run."""
    side = world.slurm
    assert isinstance(side, FakeSide)
    cluster = side.slurm.cluster
    cluster.settings = replace(cluster.settings, max_jobs={LIMITED: 0})
