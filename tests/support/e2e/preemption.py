"""Slurm jobs and Kubernetes Jobs take capacity from each other by priority, and get it back."""

from __future__ import annotations

import time

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import HIGH, LOW, NAMESPACE, TEAM_B, URGENT
from k8s_bridge.sandbox.world.slurm import JobFact, Seen
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet

pytestmark = pytest.mark.asyncio(loop_scope="module")

VICTIMS = 10
QUOTA = {"cpu": "10", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "100"}
LONG_ENOUGH = 6.0
"""Seconds of a victim: on a busy machine its preemption comes after seconds."""


async def test_a_kubernetes_job_of_higher_priority_preempts_a_slurm_job(world: World):
    job_id = await world.sbatch(JobRequest(nodes="2", ntasks=6, seconds=LONG_ENOUGH))
    first = (await world.until_state(job_id, "RUNNING")).nodes

    world.submit_job("urgent-report", queue=TEAM_B, priority=HIGH, cpus=4, seconds=0.5)

    await world.until(lambda: world.jobs[job_id].waiting, what="the Slurm job is requeued")
    await world.until(
        lambda: (job := world.plain("urgent-report")) and job.state == "Complete", what="the Job completes"
    )
    job = await world.until_state(job_id, "COMPLETED", seconds=40)
    assert job.restarts == 1
    assert not set(job.nodes) & set(first)
    (eviction,) = [e for e in world.timeline.evictions if e.job_id == job_id]
    assert eviction.reason == "Preempted"


async def test_a_slurm_job_of_higher_priority_preempts_a_kubernetes_job(world: World):
    world.submit_job("patient", priority=LOW, cpus=3, pods=2, seconds=LONG_ENOUGH)
    await world.until(lambda: (job := world.plain("patient")) and job.state == "Running", what="the Job runs")

    job_id = await world.sbatch(JobRequest(partition=URGENT, ntasks=4, seconds=0.5))

    await world.until(
        lambda: world.storage.get(JOBS, NAMESPACE, "patient")["spec"]["suspend"], what="the Job is suspended"
    )
    await world.until_state(job_id, "COMPLETED")
    await world.until(
        lambda: (job := world.plain("patient")) and job.state == "Complete", what="the Job runs after all"
    )


async def test_an_urgent_slurm_job_preempts_one_that_is_only_waiting_for_its_nodes_or_runs(world: World):
    victims = [await world.sbatch(JobRequest(ntasks=4, seconds=0.8)) for _ in range(2)]

    urgent = await world.sbatch(JobRequest(partition=URGENT, ntasks=8, seconds=0.3))

    await world.until_state(urgent, "COMPLETED", seconds=40)
    for job_id in victims:
        await world.until_state(job_id, "COMPLETED", seconds=40)


@pytest.mark.timeout(180)
async def test_ten_slurm_jobs_give_way_at_once_to_a_kubernetes_job(make_world: MakeWorld):
    async with make_world(quota=QUOTA) as world:
        requeued: dict[int, float] = {}

        def note(seen: Seen) -> None:
            if isinstance(seen, JobFact) and seen.restarts and seen.waiting:
                requeued.setdefault(seen.job_id, time.time())

        world.slurm.facts.listeners.append(note)
        await world.bridge()
        long = 2 * LONG_ENOUGH * world.patience
        victims = [await world.sbatch(JobRequest(ntasks=1, seconds=long)) for _ in range(VICTIMS)]
        for job_id in victims:
            await world.until_state(job_id, "RUNNING", seconds=60)

        world.submit_job("whole", queue=TEAM_B, priority=HIGH, cpus=1, pods=VICTIMS, seconds=0.5)

        for job_id in victims:
            job = await world.until_state(job_id, "COMPLETED", seconds=90)
            assert job.restarts == 1
        evicted = {e.job_id: e.at for e in world.timeline.evictions if e.job_id in victims}
        waits = sorted(requeued[job_id] - evicted[job_id] for job_id in victims)
        print("requeued after", [round(wait, 2) for wait in waits])  # noqa: T201 - figures, by pytest -rP
        await quiet(world)
