"""A job that Slurm would not start has no JobSet, says why, and runs when nothing keeps it any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet, unit

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.slurm_real import RealSlurm
from k8s_bridge.sandbox.world import World
from k8s_bridge.sandbox.world.timeline import of_job

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slurm, pytest.mark.timeout(300)]
LONG = 600.0
CONF = "Licenses=matlab:2\nPartitionName=elsewhere Nodes=ALL State=UP"
BOTH = pytest.mark.parametrize("slurm", ["24.11", "22.05"], indirect=True, scope="module")


class Cluster:
    """A world with a bridge, and the commands of its Slurm."""

    def __init__(self, world: World, slurm: RealSlurm) -> None:
        self.world, self.slurm = world, slurm

    async def held(self, *options: str, seconds: float = 0.3, code: int = 0) -> int:
        script = f"#!/bin/sh\nsleep {seconds:g}\nexit {code}\n"
        return await self.slurm.sbatch("--hold", "--partition=batch", *options, script=script)

    async def waits(self, job_id: int, reason: str, *words: str) -> None:
        """It has no JobSet and says why, on the job and to whoever asks the bridge."""
        marked = f"k8s-bridge: {reason}: "

        def said() -> bool:
            text = self.world.text(job_id)
            return text.startswith(marked) and all(word in text for word in words)

        await self.world.until(said, what=f"job {job_id} says {reason} {words}", seconds=60)
        assert not self.world.of_job(JOBSETS, job_id)
        assert (await unit(self.world, job_id, "Ineligible"))["reason"] == reason

    async def completes(self, *job_ids: int) -> None:
        for job_id in job_ids:
            await self.world.until_state(job_id, "COMPLETED", seconds=90)

    def in_use(self) -> bool:
        """Whether any quota is taken."""
        return any(amount for queue in self.world.timeline.usage.values() for amount in queue.values())

    def asked_after(self, job_id: int, other: int, *, seconds: float) -> bool:
        """Whether capacity for one job was asked for only when the other had run for so long."""
        asked = min(span.begun for span in of_job(self.world.timeline.jobsets, job_id))
        return (
            asked >= max(start.at for start in self.world.timeline.starts if start.job_id == other) + seconds
        )


@asynccontextmanager
async def cluster(make_world: MakeWorld) -> AsyncIterator[Cluster]:
    async with make_world(slurm_conf=CONF) as world:
        await world.bridge()
        yield Cluster(world, world.slurm.slurm)
        await quiet(world)


@BOTH
async def test_dependencies(make_world: MakeWorld):
    async with cluster(make_world) as c:
        good, bad = await c.held(seconds=12), await c.held(seconds=1, code=3)
        after_good = await c.held(f"--dependency=afterok:{good}")
        after_both = await c.held(f"--dependency=afterany:{good}:{bad}")
        after_bad = await c.held(f"--dependency=afterok:{bad}")
        await c.waits(after_good, "Dependency", f"afterok:{good}", f"job {good} is")
        await c.waits(after_bad, "DependencyNeverSatisfied", f"job {bad} is FAILED", "cancel the job")
        await c.completes(good, after_good, after_both)
        assert c.asked_after(after_good, good, seconds=8)
        assert not c.world.of_job(JOBSETS, after_bad)
        await c.world.scancel(after_bad)


@BOTH
async def test_one_at_a_time_by_name(make_world: MakeWorld):
    async with cluster(make_world) as c:
        options = ("--job-name=single", "--dependency=singleton")
        ids = [await c.held(*options, seconds=4) for _ in range(3)]
        await c.waits(ids[2], "Dependency", "singleton", "of the same name")
        await c.completes(*ids)
        starts = [start.job_id for start in c.world.timeline.starts if start.job_id in ids]
        assert starts == ids


@BOTH
async def test_a_begin_time_and_a_foreign_predecessor(make_world: MakeWorld):
    async with cluster(make_world) as c:
        foreign = await c.slurm.sbatch("--hold", "--partition=elsewhere", script="#!/bin/sh\n")
        later = await c.held("--begin=now+15")
        after = await c.held(f"--dependency=afterany:{foreign}")
        await c.waits(later, "BeginTime", "is not to start before")
        await c.waits(after, "Dependency", f"job {foreign} is PENDING")
        await c.world.scancel(foreign)
        await c.completes(later, after)


@BOTH
async def test_licenses_are_not_promised_twice(make_world: MakeWorld):
    async with cluster(make_world) as c:
        ids = [await c.held("--licenses=matlab:2", seconds=LONG) for _ in range(2)]
        first = await c.world.until(
            lambda: next((i for i in ids if (job := c.world.jobs.get(i)) and job.running), None),
            what="one runs",
            seconds=60,
        )
        second = next(job_id for job_id in ids if job_id != first)
        await c.waits(second, "Licenses", "matlab:2 (0 free)")
        await c.world.scancel(first)
        await c.world.until_state(second, "RUNNING", seconds=90)
        await c.world.scancel(second)


@BOTH
async def test_reservations(make_world: MakeWorld):
    async with cluster(make_world) as c:
        await c.slurm.scontrol(
            "create", "reservation", "ReservationName=soon", "StartTime=now+25", "Duration=00:02:00",
            "Users=root", "Flags=ANY_NODES,IGNORE_JOBS", "Licenses=matlab:1",
        )  # fmt: skip
        inside = await c.held("--reservation=soon", "--licenses=matlab:1", "--time=1")
        await c.waits(inside, "Reservation", "reservation soon begins")
        await c.completes(inside)
        await c.slurm.scontrol("delete", "ReservationName=soon")


@BOTH
async def test_a_partition_that_is_down(make_world: MakeWorld):
    async with cluster(make_world) as c:
        await c.slurm.scontrol("update", "PartitionName=batch", "State=DOWN")
        job_id = await c.held()
        await c.waits(job_id, "PartitionDown", "partition batch is DOWN")
        await c.slurm.scontrol("update", "PartitionName=batch", "State=UP")
        await c.completes(job_id)


@BOTH
async def test_what_only_shows_after_the_release_gives_the_quota_back_and_is_tried_again(
    make_world: MakeWorld,
):
    async with cluster(make_world) as c:
        await c.slurm.scontrol("update", "PartitionName=batch", "MaxTime=5")
        job_id = await c.held("--time=20")
        said = "quota given back after PartitionTimeLimit (attempt 1)"
        await c.world.until(lambda: said in c.world.text(job_id), what="it says why", seconds=90)
        await c.world.until(lambda: not c.in_use(), what="its quota is free", seconds=30)
        assert c.world.jobs[job_id].held
        await c.slurm.scontrol("update", "PartitionName=batch", "MaxTime=INFINITE")
        await c.completes(job_id)
        assert c.world.jobs[job_id].restarts == 0
