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
from k8s_bridge.slurm.parking import LONGEST

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]

LIMITED, FREE = "limited", "free"
IN_FLIGHT = 2
PARTITION = {"partitionName": BATCH, "workloadPriorityClass": NORMAL, "maxInFlight": IN_FLIGHT}
SPEC = {"partitionMappings": [PARTITION]}


async def test_jobs_beyond_a_limit_of_their_account_keep_no_other_account_waiting(make_world: MakeWorld):
    async with make_world(spec=SPEC) as world:
        allow(world, 0)
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


async def test_a_job_beyond_a_limit_starts_when_one_ends_that_the_limit_counted(make_world: MakeWorld):
    async with make_world(spec=SPEC) as world:
        allow(world, 1)
        await world.bridge()
        first = await world.sbatch(JobRequest(account=LIMITED, seconds=600))
        await world.until_state(first, "RUNNING", seconds=60)
        second = await world.sbatch(JobRequest(account=LIMITED, seconds=0.2))
        await unit(world, second, "Parked", text="quota given back after AssocMaxJobsLimit", seconds=60)
        make_long(world, second)

        await world.scancel(first)

        await world.until_state(second, "COMPLETED", seconds=30)
        await quiet(world)


def make_long(world: World, job_id: int) -> None:
    """The pause is that of a job that was tried many times, which has just begun: longer than this test."""
    mark = {naming.PARKED: f"{time.time() + LONGEST:.0f} 9 AssocMaxJobsLimit"}
    patch = {"metadata": {"annotations": mark}}
    world.storage.patch(JOBSETS, NAMESPACE, naming.jobset_name(job_id), patch)


def allow(world: World, jobs: int) -> None:
    """So many jobs of that account may run at a time."""
    side = world.slurm
    assert isinstance(side, FakeSide)
    cluster = side.slurm.cluster
    cluster.settings = replace(cluster.settings, max_jobs={LIMITED: jobs})
