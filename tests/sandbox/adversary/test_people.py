"""What people do to jobs, JobSets and queues, at any stage: each job still ends as they would expect."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.adversary import all_well, bridge, side_by_side, until

from k8s_bridge.sandbox.apiserver.errors import ApiError
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, LOCALQUEUES, PODS, WORKLOADS, Kind
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, ending
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig, check
from k8s_bridge.sandbox.world.config import BATCH, NAMESPACE, TEAM_A
from k8s_bridge.slurm import parking
from k8s_bridge.slurm.client import Hold, JobUpdate, SlurmClient, SlurmEndpoint, TokenSource
from k8s_bridge.slurm.moves import released

UNMANAGED = "unmanaged"


Admin = SlurmClient
Story = Callable[[World, Admin], Awaitable[None]]
STORIES: dict[str, Story] = {}


def story(told: Story) -> Story:
    STORIES[told.__name__] = told
    return told


async def tell(told: Story, directory: Path) -> None:
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world:
        cluster = slurm(world).cluster
        cluster.settings = replace(cluster.settings, partitions=(*cluster.settings.partitions, UNMANAGED))
        token = TokenSource(lambda: slurm(world).token, name="admin")
        admin = SlurmClient(SlurmEndpoint(base_url=world.slurm.rest_url), token=token)
        async with bridge(world):
            try:
                await told(world, admin)
            finally:
                await admin.close()


def slurm(world: World) -> FakeSlurm:
    return world.slurm.slurm  # type: ignore[attr-defined]


def requeue(world: World, job_id: int, *, hold: bool) -> None:
    """scontrol requeue, requeuehold."""
    cluster = slurm(world).cluster
    job = cluster.jobs[job_id]
    ending.requeue(cluster, job)
    if hold:
        job.priority, job.reason = 0, job.reason.HELD_ADMIN
        cluster.file(job)


async def running(world: World, **options: Any) -> int:
    job = await world.sbatch(JobRequest(**{"seconds": 60, **options}))
    await world.until_state(job, "RUNNING")
    return job


async def waiting(world: World, **options: Any) -> tuple[int, int]:
    hog = await running(world, ntasks=8)
    job = await world.sbatch(JobRequest(**{"seconds": 0.2, **options}))
    await world.until(lambda: world.workload(job), what="it waits for quota")
    return hog, job


@story
async def a_release_does_not_pass_kueue(world: World, admin: Admin):
    hog, job = await waiting(world)
    for _ in range(3):
        await admin.update_job(job, JobUpdate(hold=Hold.RELEASE))
        await until(lambda: world.jobs[job].held, what="it is held again")
    await world.scancel(hog)
    await world.until_state(job, "COMPLETED")


@story
async def a_requeue_runs_again(world: World, admin: Admin):
    job = await running(world, seconds=1.5)
    requeue(world, job, hold=False)
    await all_well(world, job)
    assert world.jobs[job].restarts == 1


@story
async def a_requeuehold_is_respected_quota_goes_back_and_a_release_goes_on(world: World, admin: Admin):
    job = await running(world, seconds=1.0)
    requeue(world, job, hold=True)
    await until(lambda: "HeldByOther" in world.jobs[job].text, what="it is said who holds it")
    await until(lambda: not world.of_job(PODS, job), what="the quota goes back")
    await asyncio.sleep(0.5)
    assert world.jobs[job].held
    await admin.update_job(job, JobUpdate(hold=Hold.RELEASE))
    await all_well(world, job, seconds=40)


@story
async def a_waiting_job_that_is_changed_is_asked_for_anew(world: World, admin: Admin):
    hog, job = await waiting(world)
    cluster = slurm(world).cluster
    record = cluster.jobs[job]
    record.record |= {"tasks": 3, "cpus": 3}
    cluster.file(record)
    await until(lambda: cpus(world, job) == "3", what="the JobSet is of the new size")
    await world.scancel(hog)
    await world.until_state(job, "COMPLETED")


def cpus(world: World, job: int) -> str:
    for jobset in world.of_job(JOBSETS, job):
        template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        return str(template["spec"]["containers"][0]["resources"]["requests"]["cpu"])
    return ""


@story
async def a_job_that_is_moved_to_an_unmanaged_partition_and_back(world: World, admin: Admin):
    hog, job = await waiting(world)
    await admin.update_job(job, JobUpdate(partition=UNMANAGED))
    await until(lambda: not world.of_job(JOBSETS, job), what="nothing is asked for it")
    await admin.update_job(job, JobUpdate(partition=BATCH))
    await until(lambda: world.of_job(JOBSETS, job), what="it is asked for again")
    await world.scancel(hog)
    await world.until_state(job, "COMPLETED")


@story
async def a_job_id_that_is_used_again_is_another_job(world: World, admin: Admin):
    first = await running(world)
    before = world.of_job(JOBSETS, first)[0]["metadata"]["uid"]
    await asyncio.sleep(1.1)  # another second of submission
    slurm(world).restart(clean=True)
    slurm(world).cluster.next_id = first
    second = await world.sbatch(JobRequest(seconds=0.3))
    assert second == first
    await all_well(world, second, seconds=40)
    assert [s.uid for s in world.timeline.jobsets if s.uid == before and s.ended is None] == []


@story
async def a_localqueue_that_is_deleted_and_made_again(world: World, admin: Admin):
    job = await world.sbatch(JobRequest(seconds=0.3))
    queue = world.storage.get(LOCALQUEUES, NAMESPACE, TEAM_A)
    world.delete(LOCALQUEUES, TEAM_A)
    late = await world.sbatch(JobRequest(seconds=0.3))
    await asyncio.sleep(2)
    world.storage.create(
        LOCALQUEUES, {"metadata": {"namespace": NAMESPACE, "name": TEAM_A}, "spec": queue["spec"]}
    )
    await all_well(world, job, late, seconds=40)


async def deleted_at_any_stage(world: World, kind: Kind) -> None:
    chance = random.Random(kind.plural)

    async def one(delay: float) -> int:
        job = await world.sbatch(JobRequest(ntasks=1, seconds=0.5))
        await asyncio.sleep(delay)
        for found in world.of_job(kind, job) or owned(world, kind, job):
            try:
                world.delete(kind, found["metadata"]["name"])
            except ApiError:
                continue
        return job

    jobs = await asyncio.gather(*(one(chance.uniform(0, 2.5)) for _ in range(8)))
    await all_well(world, *jobs, seconds=40)


for _kind in (JOBSETS, PODS, WORKLOADS):
    STORIES[f"deleted {_kind.plural}"] = lambda world, _, kind=_kind: deleted_at_any_stage(world, kind)


def owned(world: World, kind: Kind, job: int) -> list[dict[str, Any]]:
    workload = world.workload(job)
    return [workload] if workload and kind is WORKLOADS else []


@story
async def scancel_at_any_stage(world: World, admin: Admin):
    chance = random.Random(4)

    async def one(delay: float) -> None:
        job = await world.sbatch(JobRequest(ntasks=2, nodes="2", seconds=60))
        await asyncio.sleep(delay)
        await world.scancel(job)

    await asyncio.gather(*(one(chance.uniform(0, 3)) for _ in range(10)))
    await quiet(world)
    assert {job.state for job in world.jobs.values()} == {"CANCELLED"}


async def quiet(world: World) -> None:
    await world.until_quiet(seconds=40)
    assert [verdict for verdict in check(world.timeline) if not verdict.holds] == []


async def test_people_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(released, "HOLD_GRACE", 0.5)
    monkeypatch.setattr(parking, "FIRST", 1.0)
    await side_by_side({name: partial(tell, told, tmp_path / name) for name, told in STORIES.items()})
