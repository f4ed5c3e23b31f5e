"""Thirty jobs of ten shapes, two partitions and priorities, through a queue that holds a third of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from k8s_bridge.sandbox.world import JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import BATCH, URGENT
from support.e2e.keeper import bridge_of, quiet

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHAPES = (
    JobRequest(name="single"),
    JobRequest(name="nodes", nodes="2"),
    JobRequest(name="tasks", ntasks=3),
    JobRequest(name="spread", nodes="2", ntasks=3),
    JobRequest(name="wide-tasks", ntasks=2, cpus_per_task=2),
    JobRequest(name="per-node", nodes="2", ntasks_per_node=2),
    JobRequest(name="memory", mem=300),
    JobRequest(name="memory-per-cpu", ntasks=2, mem_per_cpu=100),
    JobRequest(name="gpus", gpus_per_node=2, cpus_per_task=2),
    JobRequest(name="limited", time=5, nodes="1-2"),
)
TIMES = 3
KILLS = 5
QUOTA = {"cpu": "22", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "100"}
"""A third of the CPUs that all thirty ask for together."""


def requests() -> Iterator[JobRequest]:
    for number in range(TIMES * len(SHAPES)):
        partition = URGENT if number % 3 == 0 else BATCH
        yield replace(SHAPES[number % len(SHAPES)], partition=partition, seconds=0.4 + 0.1 * (number % 4))


async def submit_all(world: World) -> list[int]:
    return [await world.sbatch(request) for request in requests()]


async def all_completed(world: World, ids: list[int]) -> None:
    await world.until(
        lambda: all(world.jobs.get(job_id) and world.jobs[job_id].over for job_id in ids),
        what="all jobs are over",
        seconds=75,
    )
    assert {
        job_id: world.jobs[job_id].state for job_id in ids if world.jobs[job_id].state != "COMPLETED"
    } == {}
    await quiet(world)


async def killed_and_restarted(world: World, ids: list[int], *, chance: random.Random) -> int:
    """kill -9 at random moments."""
    hits = 0
    for _ in range(KILLS):
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        hits += not all(job_id in world.jobs and world.jobs[job_id].over for job_id in ids)
        await bridge_of(world).kill()
        await bridge_of(world).start()
    return hits


@pytest.mark.timeout(180)
async def test_thirty_jobs_share_a_queue_that_holds_a_third_of_them(
    make_config: Callable[..., WorldConfig],
):
    async with World.start(make_config(quota=QUOTA)) as world:
        await world.bridge()
        ids = await submit_all(world)

        await all_completed(world, ids)

        timeline = world.timeline
        assert len({start.job_id for start in timeline.starts}) == len(ids) == TIMES * len(SHAPES)
        assert timeline.peak["cpu"] >= 10_000, "the queue was never even half full"
        assert all(world.text(job_id).startswith("k8s-bridge: ") for job_id in ids)


@pytest.mark.timeout(180)
async def test_thirty_jobs_end_the_same_when_the_bridge_is_killed_again_and_again(
    make_config: Callable[..., WorldConfig],
):
    async with World.start(make_config(quota=QUOTA)) as world:
        await world.bridge()
        ids = await submit_all(world)

        hits = await killed_and_restarted(world, ids, chance=random.Random(7))

        assert hits >= 1, "the jobs were over before the bridge was killed"
        await all_completed(world, ids)
