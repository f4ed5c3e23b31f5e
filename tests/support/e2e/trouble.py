"""What operators get wrong: said on the WorkloadMixing, in an event and on the job; it heals by itself."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import EVENTS, LEASES, LOCALQUEUES, PRIORITYCLASSES, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import HIGH, MIXING, NAMESPACE, TEAM_B, URGENT
from k8s_bridge.sandbox.world.objects import local_queue, priority_class
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet

pytestmark = pytest.mark.asyncio(loop_scope="module")

RACK = "example.com/rack"


async def said(world: World, condition: str, *, status: str = "False") -> str:
    """The condition's message, once it has the status."""

    def found() -> str:
        there = world.mixing_condition(condition)
        return there.get("message") or there["reason"] if there and there["status"] == status else ""

    return await world.until(found, what=f"{condition} is {status}")


async def warned(world: World, condition: str) -> None:
    """An event on the WorkloadMixing says the same as the condition."""

    def found() -> bool:
        events = world.storage.list(EVENTS, namespace=NAMESPACE)
        return any(
            event["involvedObject"]["name"] == MIXING
            and event["type"] == "Warning"
            and event["message"].startswith(f"{condition}: ")
            for event in events
        )

    await world.until(found, what=f"a warning about {condition} on the WorkloadMixing")


async def completes(world: World, job_id: int) -> None:
    await world.until_state(job_id, "COMPLETED", seconds=40)
    await said(world, "Ready", status="True")
    await quiet(world)


async def test_a_missing_local_queue(make_world: MakeWorld):
    async with make_world() as world:
        world.delete(LOCALQUEUES, TEAM_B)
        await world.bridge()
        job_id = await world.sbatch(JobRequest(partition=URGENT, seconds=0.3))

        assert TEAM_B in await said(world, "QueuesValid")
        await said(world, "Ready")
        await warned(world, "QueuesValid")
        await world.until(lambda: TEAM_B in world.text(job_id), what="the job's text names the queue")

        world.storage.create(LOCALQUEUES, local_queue(TEAM_B))
        await completes(world, job_id)


async def test_a_topology_level_that_no_flavor_has(make_world: MakeWorld):
    async with make_world(spec={"topology": {"preferredLevel": RACK}}) as world:
        await world.bridge()
        job_id = await world.sbatch(JobRequest(seconds=0.3))

        assert RACK in await said(world, "TopologyValid")
        await warned(world, "TopologyValid")
        await world.until(lambda: RACK in world.text(job_id), what="the job's text names the level")

        world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": {"topology": None}})
        await completes(world, job_id)


async def test_a_missing_priority_class(make_world: MakeWorld):
    async with make_world() as world:
        world.delete(PRIORITYCLASSES, HIGH)
        await world.bridge()
        job_id = await world.sbatch(JobRequest(partition=URGENT, seconds=0.3))

        assert HIGH in await said(world, "PriorityClassesValid")
        await said(world, "Ready")
        await warned(world, "PriorityClassesValid")
        await world.until(lambda: HIGH in world.text(job_id), what="the job's text names the class")

        world.storage.create(PRIORITYCLASSES, priority_class(HIGH))
        await completes(world, job_id)


async def test_slurm_is_down_at_the_start(make_world: MakeWorld):
    async with make_world() as world:
        job_id = await world.sbatch(JobRequest(seconds=0.3))
        await world.slurm.stop_controller()
        await world.bridge()

        await said(world, "SlurmReachable")
        await said(world, "Ready")
        await warned(world, "SlurmReachable")

        await world.slurm.start_controller()
        await completes(world, job_id)


async def test_a_wrong_token(make_world: MakeWorld):
    async with make_world() as world:
        good = world.slurm.token_file.read_text()
        world.write_token("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdW4iOiJyb290In0.d3Jvbmc")
        await world.bridge()
        job_id = await world.sbatch(JobRequest(seconds=0.3))

        await said(world, "TokenValid")
        await said(world, "Ready")
        await warned(world, "TokenValid")

        world.write_token(good)
        await completes(world, job_id)


@pytest.mark.timeout(120)
async def test_of_two_replicas_one_works_and_the_other_takes_over(make_world: MakeWorld):
    async with make_world() as world:
        leader = await world.bridge("one", election="lease")
        await world.until(lambda: holder(world), what="one holds the lease")
        standby = await world.bridge("two", election="lease")
        first = holder(world)
        waiting = await world.sbatch(JobRequest(seconds=3.0))
        await world.until_state(waiting, "RUNNING")

        await leader.stop()
        later = await world.sbatch(JobRequest(seconds=0.3))

        for job_id in (waiting, later):
            assert (await world.until_state(job_id, "COMPLETED", seconds=30)).restarts == 0
        assert holder(world) not in ("", first)
        assert standby.alive
        await quiet(world)


def holder(world: World) -> str:
    leases = world.storage.list(LEASES, namespace=NAMESPACE)
    return next((lease["spec"].get("holderIdentity") or "" for lease in leases), "")
