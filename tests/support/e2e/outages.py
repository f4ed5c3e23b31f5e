"""Parts of the world go away while jobs wait and run; when they are back, everything goes on."""

from __future__ import annotations

import asyncio

import pytest

from k8s_bridge.sandbox.apiserver.faults import Answer, CutWatch, Drop, Rule
from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS
from k8s_bridge.sandbox.world import JobRequest, World
from support.e2e.keeper import bridge_of
from support.e2e.life import running, runs_again

pytestmark = pytest.mark.asyncio(loop_scope="module")

AWAY = 1.0


async def jobs_in_every_stage(world: World) -> list[int]:
    """One that runs, one that waits for quota, one that has just been submitted."""
    first = await world.sbatch(JobRequest(ntasks=6, seconds=2.0))
    await world.until_state(first, "RUNNING")
    second = await world.sbatch(JobRequest(ntasks=4, seconds=0.3))
    await world.until(lambda: world.workload(second), what="the second is queued")
    return [first, second, await world.sbatch(JobRequest(seconds=0.3))]


async def all_complete_without_restart(world: World, ids: list[int], *, seconds: float = 40) -> None:
    for job_id in ids:
        assert (await world.until_state(job_id, "COMPLETED", seconds=seconds)).restarts == 0


async def test_slurmctld_restarts(world: World):
    ids = await jobs_in_every_stage(world)

    await world.slurm.stop_controller()
    await asyncio.sleep(AWAY)
    await world.slurm.start_controller()

    await all_complete_without_restart(world, ids)


async def test_slurmrestd_restarts(world: World):
    ids = await jobs_in_every_stage(world)

    await world.slurm.restart_rest()

    await all_complete_without_restart(world, ids)


async def test_the_api_server_is_cut_off(world: World):
    ids = await jobs_in_every_stage(world)
    faults = world.server.faults
    faults.add(Rule(fault=CutWatch(), verb="watch"))
    faults.add(Rule(fault=Drop(), probability=0.5))
    faults.add(Rule(fault=Answer(code=503, reason="ServiceUnavailable")))

    await asyncio.sleep(AWAY)
    world.server.forget_history()
    faults.clear()

    await all_complete_without_restart(world, ids)


async def test_the_bridge_is_frozen_for_a_while(world: World):
    ids = await jobs_in_every_stage(world)

    bridge_of(world).freeze()
    await asyncio.sleep(AWAY)
    bridge_of(world).thaw()

    await all_complete_without_restart(world, ids)


@pytest.mark.timeout(180)
async def test_a_machine_loses_power_under_a_job_and_is_removed(world: World):
    job_id = await running(world)
    (before,) = world.jobs[job_id].nodes
    (pod,) = world.of_job(PODS, job_id)
    machine = pod["spec"]["nodeName"]

    await world.power_off(machine)
    await world.until(lambda: world.jobs[job_id].waiting, what="the job is requeued")
    world.delete(NODES, machine)

    await runs_again(world, job_id, nodes=(before,))
    (pod,) = [pod for pod in world.of_job(PODS, job_id) if pod["metadata"]["name"] != before]
    assert pod["spec"]["nodeName"] != machine
    await world.scancel(job_id)
