"""Limits of associations, with slurmdbd: a job beyond them keeps no quota, says why, and runs when it may.

Skipped where slurmdbd and its database are not installed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.accounting import accounting, missing
from support.e2e.arrays import running
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet
from support.e2e.scontrol_trial import OWNER

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.world import World

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.timeout(500),
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.parametrize("slurm", ["22.05"], indirect=True, scope="module"),
]
LONG = 600.0


@asynccontextmanager
async def limited(make_world: MakeWorld, *limits: str) -> AsyncIterator[World]:
    """A world in which the owner's association has these limits."""
    async with make_world() as world, accounting(world.slurm.slurm, user=OWNER, limits=limits):
        await world.bridge()
        yield world
        await quiet(world)


async def submit(world: World, *options: str) -> int:
    script = f"#!/bin/sh\nexec sleep {LONG:g}\n"
    return await world.slurm.slurm.sbatch(
        "--hold", "--partition=batch", "--mem=100", *options, script=script, user=OWNER
    )


@pytest.mark.parametrize(
    ("limit", "options", "reason"),
    [("MaxJobs=1", "-n1", "AssocMaxJobsLimit"), ("GrpTRES=cpu=3", "-n2", "AssocGrpCpuLimit")],
)
async def test_a_job_beyond_a_limit_keeps_no_quota_and_says_so(
    make_world: MakeWorld, limit: str, options: str, reason: str
):
    async with limited(make_world, limit) as world:
        first = await submit(world, options)
        await world.until_state(first, "RUNNING", seconds=60)
        second = await submit(world, options)
        said = f"quota given back after {reason}"
        await world.until(lambda: said in world.text(second), what="it says why it waits", seconds=90)
        await world.until(lambda: not has_quota(world, second), what="its quota is free", seconds=60)
        await world.scancel(first)
        await world.until_state(second, "RUNNING", seconds=180)
        assert [start.job_id for start in world.timeline.starts] == [first, second]
        assert world.jobs[second].restarts == 0, "it never ran before"
        await world.scancel(second)


async def test_slots_of_an_array_beyond_a_limit_go_back_and_its_next_task_runs(make_world: MakeWorld):
    async with limited(make_world, "MaxJobs=1") as world:
        array = await submit(world, "--array=0-2")
        await world.until(lambda: len(running(world, array)) == 1, what="a task runs", seconds=60)
        await world.until(lambda: len(slots(world, array)) == 1, what="it holds one slot only", seconds=180)
        (first,) = running(world, array)
        await world.slurm.cancel(array, task=first)
        await world.until(
            lambda: len(running(world, array)) == 1 and first not in running(world, array),
            what="the next task runs",
            seconds=180,
        )
        await world.scancel(array)


def slots(world: World, array: int) -> list[dict[str, Any]]:
    """The JobSets that the array has now."""
    return world.of_job(JOBSETS, array)


def has_quota(world: World, job_id: int) -> bool:
    workload = world.workload(job_id) or {}
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "QuotaReserved" and one["status"] == "True" for one in conditions)
