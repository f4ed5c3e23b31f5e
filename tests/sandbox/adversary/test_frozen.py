"""The leader of two replicas is frozen at work: the other one finishes, and the sleeper writes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.adversary import all_well

from k8s_bridge.sandbox.apiserver.kinds import EVENTS, LEASES
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import NAMESPACE

AWAKE_SECONDS = 3.0


@pytest.mark.slow
async def test_a_leader_that_was_frozen_wakes_up_as_a_standby(tmp_path: Path):
    async with World.start(WorldConfig(directory=tmp_path, slurm=Backend.FAKE)) as world:
        leader = await world.bridge("one", election="lease")
        first = await world.sbatch(JobRequest(seconds=60))
        await world.until_state(first, "RUNNING")
        sleeper = who_leads(world)
        await world.bridge("two", election="lease")
        jobs = [await world.sbatch(JobRequest(nodes="2", seconds=0.3)) for _ in range(3)]
        await world.until(lambda: world.workload(jobs[0]), what="the leader has begun")
        leader.freeze()
        await world.scancel(first)
        for job in jobs:
            await world.until_state(job, "COMPLETED", seconds=40)
        await world.until_quiet(seconds=20)
        requests, events = len(world.slurm.slurm.requests), events_by(world, sleeper)
        leader.thaw()
        await asyncio.sleep(AWAKE_SECONDS)
        since = world.slurm.slurm.requests[requests:]
        assert [request for request in since if not request.startswith("GET")] == []
        assert events_by(world, sleeper) == events > 0
        last = await world.sbatch(JobRequest(seconds=0.2))
        await all_well(world, *jobs, last)
    assert {world.jobs[job].restarts for job in jobs} == {0}


def who_leads(world: World) -> str:
    (lease,) = world.storage.list(LEASES, namespace=NAMESPACE)
    return str(lease["spec"]["holderIdentity"])


def events_by(world: World, identity: str) -> int:
    """The one that leads now, and other controllers, may still have things to tell."""
    events = world.storage.list(EVENTS, namespace=NAMESPACE)
    return sum(event["reportingInstance"] == identity for event in events)
