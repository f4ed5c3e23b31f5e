"""Scenario `alone`: one job after another, each submitted while the bridge has nothing to do."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from bench.places import Place
from bench.report import Result
from bench.stage import scene
from bench.witness import Witness
from k8s_bridge.sandbox.world import JobRequest, WorldConfig

_CALM = 1.0
"""Seconds after which the bridge asks Slurm as seldom as it does when idle: the world's pollInterval."""
_WITHIN = 60.0


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """The stages of a job that waits for nobody. Unmet when one does not end."""
    chance = random.Random(jobs)  # noqa: S311 - where in an interval a job comes, the same each time
    witness = Witness()
    async with scene(
        WorldConfig(directory=directory), place=place, command=command, witness=witness
    ) as stage:
        await stage.start()
        for _ in range(jobs):
            await asyncio.sleep(_CALM + chance.random())
            await stage.until_gone(await stage.submit(JobRequest(seconds=1.0)), seconds=_WITHIN)
    return Result(scenario="alone", measured=witness.marks.table("alone"), detail={"jobs": jobs})
