"""kill -9 before and after every single write about a job that is preempted: the same end each time."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from support import adversary
from support.adversary import Writes, side_by_side, spied
from support.ray_sandbox import RaySandbox, sandbox

LONGER = 8
"""More writes than without a death: a few are made twice, none for ever."""


async def story(directory: Path, *, last: int | None, happens: bool = True) -> list[str]:
    """The bridge dies at its `last`-th write, and the job succeeds all the same. All writes."""
    writes = Writes(last=last, last_happens=happens)
    adversary._writes.set(writes)
    async with sandbox(directory) as world:
        end = asyncio.create_task(_preempted(world))
        dying = asyncio.create_task(writes.died.wait())
        async with world.bridge():
            await asyncio.wait({dying, end}, return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        writes.revive()
        async with world.bridge():
            await end
    return writes.seen


async def _preempted(world: RaySandbox) -> None:
    before = world.used()
    world.submit("job", notes={"workers": "3"}, seconds=1.0)
    await world.until(lambda: world.status("job") in ("RUNNING", "SUCCEEDED"), what="it runs")
    world.submit_plain("urgent", cpus=2, seconds=0.5)
    await world.until(lambda: world.status("job") == "SUCCEEDED", what="it succeeds", seconds=60)
    await world.until(lambda: not world.jobsets() and world.used() == before, what="all is given back")
    said = sorted(world.submissions().values())
    assert said.count("SUCCEEDED") == 1, said
    assert not {"RUNNING", "PENDING"} & set(said), said


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_the_end_is_the_same_wherever_the_bridge_is_killed(tmp_path: Path):
    with spied():
        whole = await story(tmp_path / "whole", last=None)

        async def killed(last: int, *, happens: bool) -> None:
            seen = await story(tmp_path / f"{last} {happens}", last=last, happens=happens)
            assert len(seen) <= len(whole) + LONGER, seen

        stories = {
            f"killed {'after' if happens else 'before'} {last}: {whole[last - 1]}": partial(
                killed, last, happens=happens
            )
            for last in range(1, len(whole) + 1)
            for happens in (True, False)
        }
        assert len(stories) >= 16
        await side_by_side(stories)
