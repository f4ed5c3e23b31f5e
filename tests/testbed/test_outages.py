from __future__ import annotations

import asyncio

import pytest
from support.e2e import outages
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet
from support.e2e.life import running
from support.e2e.outages import *  # noqa: F403
from support.e2e.outages import AWAY, all_complete_without_restart, jobs_in_every_stage

from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS
from k8s_bridge.sandbox.world import JobRequest, World
from testbed import control
from testbed.control import kubectl

pytestmark = [outages.pytestmark, pytest.mark.testbed]


async def test_the_api_server_is_cut_off(world: World):
    """The real one is killed; the sandbox's fails in more ways."""
    ids = await jobs_in_every_stage(world)

    await control.stop_apiserver()
    await asyncio.sleep(AWAY)
    await asyncio.to_thread(control.start_apiserver)

    await all_complete_without_restart(world, ids)


@pytest.mark.timeout(180)
async def test_kueue_restarts(world: World):
    """Without its webhook no JobSet can be made, and without it nobody's quota goes back."""
    ids = await jobs_in_every_stage(world)

    kubectl("-n", "kueue-system", "delete", "pod", "--all", "--grace-period=0", "--force")
    later = await world.sbatch(JobRequest(seconds=0.3))

    await all_complete_without_restart(world, [*ids, later], seconds=90)


@pytest.mark.timeout(240)
async def test_a_machine_loses_power_under_a_job_and_is_removed(world: World):
    """Nothing replaces pods on a dead machine while its Node is there, and a minute passes after that."""
    job_id = await running(world)
    (before,) = world.jobs[job_id].nodes
    (pod,) = world.of_job(PODS, job_id)
    machine = pod["spec"]["nodeName"]

    await world.power_off(machine)
    await world.until(lambda: world.jobs[job_id].waiting, what="the job is requeued", seconds=60)
    world.delete(NODES, machine)

    def elsewhere() -> bool:
        job = world.jobs[job_id]
        return job.running and before not in job.nodes

    await world.until(elsewhere, what="the job runs on another machine", seconds=120)
    assert [pod["spec"]["nodeName"] for pod in world.of_job(PODS, job_id)] != [machine]
    await world.scancel(job_id)


async def test_a_machine_is_unplugged_under_a_job_of_two_nodes(make_world: MakeWorld):
    async with make_world() as world:
        await world.bridge()
        job_id = await world.sbatch(JobRequest(nodes="2", ntasks=2, seconds=20.0))
        await world.until_state(job_id, "RUNNING")
        before = world.jobs[job_id].nodes
        machine = world.of_job(PODS, job_id)[0]["spec"]["nodeName"]

        await world.power_off(machine)
        await world.until(lambda: world.jobs[job_id].restarts, what="the job is requeued", seconds=60)
        world.delete(NODES, machine)

        job = await world.until_state(job_id, "COMPLETED", seconds=120)
        assert job.restarts == 1
        assert not set(job.nodes) & set(before)
        await quiet(world)


async def test_the_jobset_controller_is_killed_while_a_job_runs(world: World):
    job_id = await world.sbatch(JobRequest(nodes="2", ntasks=2, seconds=8.0))
    await world.until_state(job_id, "RUNNING")

    kubectl("-n", "jobset-system", "delete", "pod", "--all", "--grace-period=0", "--force")
    later = await world.sbatch(JobRequest(seconds=0.3))

    for one in (job_id, later):
        assert (await world.until_state(one, "COMPLETED", seconds=90)).restarts == 0
