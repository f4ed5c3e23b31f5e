from __future__ import annotations

import asyncio

import pytest
from support.e2e import faults
from support.e2e.faults import *  # noqa: F403
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet
from support.e2e.trouble import holder

from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS
from k8s_bridge.sandbox.world import JobRequest, World

pytestmark = [faults.pytestmark, pytest.mark.testbed]

FROZEN = 60.0
BURST = 12


async def test_the_leader_is_frozen_for_a_minute_in_a_burst(make_world: MakeWorld):
    async with make_world() as world:
        leader = await world.bridge("one", election="lease")
        await world.until(lambda: holder(world), what="one holds the lease")
        await world.bridge("two", election="lease")
        first = holder(world)
        ids = [await world.sbatch(JobRequest(seconds=5.0)) for _ in range(BURST // 2)]
        await world.until(lambda: world.of_job(PODS, ids[0]), what="the leader has begun")

        leader.freeze()
        ids += [await world.sbatch(JobRequest(nodes="2", seconds=1.0)) for _ in range(BURST // 2)]
        await asyncio.sleep(FROZEN)
        assert holder(world) != first, "the other one has taken over"
        leader.thaw()

        for job_id in ids:
            assert (await world.until_state(job_id, "COMPLETED", seconds=60)).restarts == 0
        last = await world.sbatch(JobRequest(seconds=0.3))
        await world.until_state(last, "COMPLETED")
        await quiet(world)


async def test_a_cordoned_machine_takes_no_new_job_and_keeps_the_one_that_runs(world: World):
    job_id = await world.sbatch(JobRequest(seconds=5.0))
    await world.until_state(job_id, "RUNNING")
    machine = world.of_job(PODS, job_id)[0]["spec"]["nodeName"]

    world.storage.patch(NODES, "", machine, {"spec": {"unschedulable": True}})
    try:
        later = await world.sbatch(JobRequest(seconds=0.3))
        pods = await world.until(lambda: placed(world, later), what="its pod has a machine")
        assert machine not in pods
        await world.until_state(later, "COMPLETED")
        assert (await world.until_state(job_id, "COMPLETED")).restarts == 0
    finally:
        world.storage.patch(NODES, "", machine, {"spec": {"unschedulable": None}})


def placed(world: World, job_id: int) -> list[str]:
    return [name for pod in world.of_job(PODS, job_id) if (name := pod["spec"].get("nodeName"))]
