"""Bad days of the API server and of slurmrestd, by chance but repeatable: everything still ends well."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest
from support.adversary import Writes, all_well, bridge, side_by_side, spied

from k8s_bridge.sandbox.apiserver.faults import (
    Answer,
    CutWatch,
    Delay,
    Drop,
    LoseAnswer,
    Rule,
    Trickle,
    WatchEnd,
)
from k8s_bridge.sandbox.slurm_fake import Fault, FaultRule
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import URGENT

BAD_SECONDS = 6.0
SEEDS = 8
WRITES_PER_JOB = 60

VERBS = ("get", "list", "create", "patch", "delete")
KUBE = [
    *(
        Rule(fault=Answer(code=code), verb=verb, probability=0.15)
        for code in (409, 500, 503)
        for verb in VERBS
    ),
    Rule(fault=Answer(code=429, reason="TooManyRequests", retry_after=1), probability=0.05),
    *(Rule(fault=fault, verb=verb, probability=0.1) for fault in (LoseAnswer(), Drop()) for verb in VERBS),
    Rule(fault=Delay(seconds=0.3), probability=0.05),
    Rule(fault=Trickle(seconds=0.02), verb="list", probability=0.1),
    *(Rule(fault=CutWatch(after=2, how=how), verb="watch", probability=0.3) for how in WatchEnd),
]
SLURM = [
    FaultRule(fault=Fault.STATUS, status=503, probability=0.05),
    FaultRule(fault=Fault.RESET, probability=0.05),
    FaultRule(fault=Fault.LOST_ANSWER, match="POST|DELETE", probability=0.2),
    FaultRule(fault=Fault.NOT_JSON, probability=0.03),
    FaultRule(fault=Fault.EMPTY_LIST, match="GET", probability=0.1),
    FaultRule(fault=Fault.MALFORMED_ITEM, match="GET", probability=0.1),
    FaultRule(fault=Fault.STALE, match="GET", probability=0.1, seconds=5),
    FaultRule(fault=Fault.SLOW, probability=0.03, seconds=0.3),
    FaultRule(fault=Fault.HANG, match="GET", probability=0.02, seconds=0.5),
]


async def bad_days(world: World, *, seed: int) -> None:
    """Four rules of each side, for a while."""
    choice = random.Random(seed)
    for rule in choice.sample(KUBE, 4):
        world.server.faults.add(rule)
    world.slurm.slurm.inject(*choice.sample(SLURM, 4), seed=seed)
    await asyncio.sleep(BAD_SECONDS)
    world.server.faults.clear()
    world.slurm.slurm.inject()


async def story(directory: Path, *, seed: int) -> Writes:
    writes = Writes()
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE, seed=seed)) as world:
        days = asyncio.create_task(bad_days(world, seed=seed))
        async with bridge(world, writes=writes):
            jobs = [await world.sbatch(JobRequest(ntasks=3, seconds=0.6)) for _ in range(3)]
            await asyncio.sleep(2.0)
            jobs.append(await world.sbatch(JobRequest(partition=URGENT, nodes="2", ntasks=6, seconds=0.4)))
            await days
            await all_well(world, *jobs, seconds=45)
    return writes


@pytest.mark.timeout(100)
async def test_every_job_completes_in_spite_of_them(tmp_path: Path):
    async def told(seed: int) -> None:
        writes = await story(tmp_path / str(seed), seed=seed)
        assert len(writes.seen) <= 4 * WRITES_PER_JOB

    with spied():
        await side_by_side({f"seed {seed}": partial(told, seed) for seed in range(SEEDS)}, at_a_time=SEEDS)
