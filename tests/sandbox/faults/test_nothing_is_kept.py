"""Faults leave nothing behind: when jobs that they struck are gone, the bridge keeps no more than before."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.adversary import spied
from support.kept import kept, left_lying
from support.simulation import Simulation, simulation
from support.virtual import virtual_time

from k8s_bridge.sandbox.faults import named
from k8s_bridge.sandbox.world import JobRequest
from k8s_bridge.sandbox.world.fake_side import FakeSide

ERRORS = ("api-errors", "api-lost-answers", "rest-errors", "rest-lost-answers")
BLOWS = ("watches-cut", "webhook-refuses", "rest-down", "workload-deleted", "slurmd-crashes")
SHAPES = (JobRequest(name="nodes", nodes="2", ntasks=2), JobRequest(name="array", array="0-1"))
PURGED = 5.0
"""Seconds after which Slurm forgets a job that has ended."""
BOUNDED = {"_Series", "_Bucket", "Happening", "Recent._kept", "Recent._entries", "Answers._ended"}
"""What remembers the last so and so many on purpose."""
SLACK = 3
"""Of what is under way at any moment."""


async def some_jobs(sim: Simulation, faults: Sequence[str]) -> Counter[str]:
    """What is kept when jobs that came before the faults and while they lasted are gone."""
    for shape in SHAPES:
        await sim.world.sbatch(shape)
    await asyncio.sleep(1.0)
    for name in faults:
        await sim.faults.begin(named(name))
    for shape in SHAPES:
        await sim.world.sbatch(shape)
    await asyncio.sleep(2.0)
    await sim.faults.end_all()
    await sim.world.until_quiet(seconds=1500)
    await asyncio.sleep(2 * PURGED)
    return kept()


async def story() -> tuple[Counter[str], Counter[str], Counter[str]]:
    async with simulation() as sim:
        assert isinstance(sim.world.slurm, FakeSide)
        cluster = sim.world.slurm.slurm.cluster
        cluster.settings = replace(cluster.settings, min_job_age=PURGED)
        before = await some_jobs(sim, ())
        with left_lying() as lying:
            await some_jobs(sim, ERRORS)
            after = await some_jobs(sim, BLOWS)
        return before, after, lying


@pytest.mark.timeout(240)
def test_what_is_kept_of_jobs_that_faults_struck():
    with spied(), virtual_time() as runner:
        before, after, lying = runner.run(story())
    more = {name: (before[name], count) for name, count in after.items() if count > before[name] + SLACK}
    assert {name: counts for name, counts in more.items() if name not in BOUNDED} == {}
    assert lying == {}
