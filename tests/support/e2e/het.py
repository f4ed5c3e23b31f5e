"""Heterogeneous jobs: admitted as one, each component on its own nodes, requeued and ended together."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import HIGH, TEAM_B
from k8s_bridge.sandbox.world.slurm import JobFact
from support.e2e.keeper import unit

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]

LONG = 60.0


def request(seconds: float) -> JobRequest:
    """One CPU, and two nodes of two tasks."""
    return JobRequest(ntasks=1, mem=100, more=(JobRequest(nodes="2", ntasks=4, mem=200),), seconds=seconds)


def components(world: World, job_id: int) -> list[JobFact]:
    facts = [fact for fact in world.jobs.values() if fact.unit == job_id]
    return sorted(facts, key=lambda fact: fact.job_id)


async def all_are(world: World, job_id: int, state: str, *, restarts: int = 0) -> list[JobFact]:
    def reached() -> bool:
        found = components(world, job_id)
        as_wanted = [one.state == state and one.restarts == restarts for one in found]
        return len(found) == 2 and all(as_wanted) and not any(one.completing for one in found)

    await world.until(reached, what=f"both components of {job_id} are {state}", seconds=60)
    return components(world, job_id)


async def test_a_het_job_is_one_jobset_and_each_component_runs_on_its_own_nodes(world: World):
    job_id = await world.sbatch(request(0.5))

    first, second = await all_are(world, job_id, "COMPLETED")

    assert len([span for span in world.timeline.jobsets if span.job_id == job_id]) == 1
    assert (len(first.nodes), len(second.nodes)) == (1, 2)
    assert {node.rsplit("-c", 1)[1][0] for node in first.nodes} == {"0"}
    assert {node.rsplit("-c", 1)[1][0] for node in second.nodes} == {"1"}


async def test_a_preempted_het_job_goes_back_to_the_queue_as_a_whole(world: World):
    job_id = await world.sbatch(request(LONG))
    before = {node for one in await all_are(world, job_id, "RUNNING") for node in one.nodes}

    world.submit_job("urgent-report", queue=TEAM_B, priority=HIGH, cpus=5, seconds=1.0)

    after = {node for one in await all_are(world, job_id, "RUNNING", restarts=1) for node in one.nodes}
    assert not before & after
    (eviction,) = [e for e in world.timeline.evictions if e.job_id == job_id]
    assert eviction.reason == "Preempted"
    await world.scancel(job_id)


async def test_a_lost_pod_of_one_component_sends_the_whole_job_back(world: World):
    job_id = await world.sbatch(request(LONG))
    _, second = await all_are(world, job_id, "RUNNING")

    world.delete(PODS, second.nodes[0])

    _, second_again = await all_are(world, job_id, "RUNNING", restarts=1)
    assert second.nodes[0] not in second_again.nodes
    await world.scancel(job_id)


async def test_scancel_of_a_het_job_gives_everything_back(world: World):
    job_id = await world.sbatch(request(LONG))
    await all_are(world, job_id, "RUNNING")

    await world.scancel(job_id)

    await all_are(world, job_id, "CANCELLED")
    await world.until(lambda: not world.of_job(JOBSETS, job_id), what="its JobSet is gone")


async def test_a_het_job_waits_for_the_quota_of_all_of_it(world: World):
    hog = await world.sbatch(JobRequest(ntasks=5, seconds=LONG))
    await world.until_state(hog, "RUNNING")
    job_id = await world.sbatch(request(0.3))

    await unit(world, job_id, "Queued", seconds=60)
    assert len(world.of_job(JOBSETS, job_id)) == 1
    assert not [start for start in world.timeline.starts if start.job_id == job_id]

    def all_held_by_the_bridge() -> bool:
        return all(one.reason == "JobHeldAdmin" for one in components(world, job_id))

    await world.until(all_held_by_the_bridge, what="no component can be released by its owner")
    await world.scancel(hog)

    await all_are(world, job_id, "COMPLETED")
