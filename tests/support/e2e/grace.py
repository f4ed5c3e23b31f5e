"""drainOnPreemption: what runs on capacity that is taken away may go on until its pods end."""

from __future__ import annotations

import time

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import BATCH, HIGH, NAMESPACE, NORMAL, TEAM_A, TEAM_B, URGENT
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENT, HASTY = 60, 6
"""Seconds that pods have to end in."""
SEEN = 2.0
"""Seconds within which it is seen here that a job was requeued."""


def draining(grace: int) -> dict[str, object]:
    template = {"spec": {"terminationGracePeriodSeconds": grace}}
    routes = ((BATCH, NORMAL, TEAM_A), (URGENT, HIGH, TEAM_B))
    mappings = [
        {"partitionName": p, "workloadPriorityClass": c, "localQueue": q, "podTemplate": template}
        for p, c, q in routes
    ]
    return {"drainOnPreemption": True, "partitionMappings": mappings}


async def preempted(world: World, **options: object) -> int:
    """A job that runs, and whose capacity is wanted by another."""
    await world.bridge()
    job_id = await world.sbatch(JobRequest(ntasks=8, **options))
    await world.until_state(job_id, "RUNNING")
    world.submit_job("urgent", queue=TEAM_B, priority=HIGH, cpus=8, seconds=0.5)
    await world.until(
        lambda: world.text(job_id).startswith("k8s-bridge: Ending: preempted: "),
        what="its owner is told that it is about to be preempted",
    )
    return job_id


async def the_other_ran(world: World) -> None:
    await world.until(
        lambda: (job := world.plain("urgent")) and job.state == "Complete", what="the Job completes"
    )
    assert world.storage.get(JOBS, NAMESPACE, "urgent")["status"]["succeeded"] == 1


async def test_a_job_that_ends_in_time_is_not_requeued(make_world: MakeWorld):
    async with make_world(spec=draining(PATIENT)) as world:
        job_id = await preempted(world, seconds=8.0)
        assert world.jobs[job_id].running
        job = await world.until_state(job_id, "COMPLETED")
        assert job.restarts == 0
        await the_other_ran(world)
        await quiet(world)


async def test_a_job_that_does_not_goes_back_to_the_queue_before_its_pods_end(make_world: MakeWorld):
    async with make_world(spec=draining(HASTY)) as world:
        job_id = await preempted(world, seconds=14.0)
        first = world.jobs[job_id].nodes
        await world.until(lambda: world.jobs[job_id].waiting, what="it is requeued")
        alive = {span.name for span in world.timeline.pods if span.covers(time.time(), grace=SEEN)}
        assert set(first) <= alive
        await the_other_ran(world)
        job = await world.until_state(job_id, "COMPLETED", seconds=40)
        assert job.restarts == 1
        await quiet(world)
