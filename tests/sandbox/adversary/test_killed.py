"""kill -9 before and after every single write of a job's life with a preemption: the same end each time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from support.adversary import Writes, all_well, bridge, side_by_side, spied

from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import URGENT

Tale = Callable[[World], Awaitable[tuple[int, ...]]]
LONGER = 12
"""More writes than without a death: a few are made twice, none for ever."""


async def story(
    directory: Path, *, last: int | None, happens: bool = True, tale: Tale | None = None
) -> list[str]:
    """The bridge dies at its `last`-th write, and everything completes all the same. All writes."""
    writes = Writes(last=last, last_happens=happens)
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world:
        end = asyncio.create_task(_to_the_end(world, tale or _jobs))
        dying = asyncio.create_task(writes.died.wait())
        async with bridge(world, writes=writes):
            await asyncio.wait({dying, end}, return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        writes.revive()
        async with bridge(world, writes=writes):
            await end
    return writes.seen


async def _to_the_end(world: World, tale: Tale) -> None:
    await all_well(world, *await tale(world))


async def _array(world: World) -> tuple[int, ...]:
    """An array of more tasks than there is quota for loses a slot to another job."""
    array = await world.sbatch(JobRequest(array="0-3", nodes="2", ntasks=4, seconds=0.7))
    await world.until(
        lambda: any(job.running or job.over for job in world.jobs.values()), what="a task of it runs"
    )
    high = await world.sbatch(JobRequest(partition=URGENT, ntasks=6, seconds=0.2))
    await world.until(lambda: world.jobs[high].over, what="the other job is over")
    return array, high


async def _jobs(world: World) -> tuple[int, ...]:
    """A job is preempted by another."""
    low = await world.sbatch(JobRequest(ntasks=8, seconds=0.7))
    await world.until(lambda: world.jobs[low].running or world.jobs[low].over, what="the first job runs")
    high = await world.sbatch(JobRequest(partition=URGENT, ntasks=8, seconds=0.2))
    await world.until(lambda: world.jobs[high].over, what="the second job is over")
    return low, high


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("tale", "ways"), [(_jobs, (True, False)), (_array, ())], ids=["jobs", "array"])
async def test_the_end_is_the_same_wherever_the_bridge_is_killed(
    tmp_path: Path, tale: Tale, ways: tuple[bool, ...]
):
    """`ways`: whether the last write happens; of none every other one does."""
    with spied():
        whole = await story(tmp_path / "whole", last=None, tale=tale)

        async def killed(last: int, *, happens: bool) -> None:
            seen = await story(tmp_path / f"{last} {happens}", last=last, happens=happens, tale=tale)
            assert len(seen) <= len(whole) + LONGER, seen

        stories = {
            f"killed {'after' if happens else 'before'} {last}: {whole[last - 1]}": partial(
                killed, last, happens=happens
            )
            for last in range(1, len(whole) + 1)
            for happens in (ways or (bool(last % 2),))
        }
        await side_by_side(stories, at_a_time=8)
