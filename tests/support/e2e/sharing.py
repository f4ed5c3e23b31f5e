"""Slurm jobs, Jobs and somebody else's JobSets wait in one queue, and get its quota by their priority."""

from __future__ import annotations

from typing import Any

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS, WORKLOADS
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import BATCH, HIGH, LOW, NAMESPACE, TEAM_A, TEAM_B, URGENT
from k8s_bridge.sandbox.world.objects import plain_job
from support.e2e.life import LONG

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB, JOBSET = "someones-job", "someones-jobset"
ALL = {"cpus": 4, "pods": 2, "seconds": 0.5}
"""The CPUs of the whole quota."""


def jobset(name: str, **what: Any) -> dict[str, Any]:
    """A JobSet of one Job."""
    _, job = plain_job(name, **what)
    template = {"spec": {key: value for key, value in job["spec"].items() if key != "suspend"}}
    return job | {"spec": {"suspend": True, "replicatedJobs": [{"name": "work", "template": template}]}}


def waiting(world: World) -> int:
    """Workloads without quota."""
    workloads = world.storage.list(WORKLOADS, namespace=NAMESPACE)
    return sum(not conditions.is_true(workload, "QuotaReserved") for workload in workloads)


def is_complete(world: World) -> bool:
    job, found = world.plain(JOB), world.storage.get(JOBSETS, NAMESPACE, JOBSET)
    return bool(job) and job.state == "Complete" and conditions.is_true(found, "Completed")


async def test_what_waits_is_admitted_by_priority_whatever_it_is(world: World):
    first = await world.sbatch(JobRequest(partition=URGENT, ntasks=8, seconds=LONG))
    await world.until_state(first, "RUNNING")
    world.submit_job(JOB, queue=TEAM_A, priority=LOW, **ALL)
    second = await world.sbatch(JobRequest(ntasks=8, seconds=0.5))
    world.storage.create(JOBSETS, jobset(JOBSET, queue=TEAM_B, priority=HIGH, **ALL))
    await world.until(lambda: waiting(world) == 3, what="all three wait for quota")

    await world.scancel(first)

    await world.until_state(second, "COMPLETED", seconds=40)
    await world.until(lambda: is_complete(world), what="the Job and the JobSet are complete")
    admitted = [span.job_id or span.name.rpartition("-")[0] for span in world.timeline.admissions]
    assert admitted == [first, f"jobset-{JOBSET}", second, f"job-{JOB}"]
    assert world.timeline.evictions == []


async def test_a_job_of_several_partitions_goes_by_the_first_that_is_managed(world: World):
    job_id = await world.sbatch(JobRequest(partition=f"{URGENT},{BATCH}", nodes="2", seconds=LONG))
    await world.until_state(job_id, "RUNNING")
    workload = world.workload(job_id)
    assert workload is not None
    assert workload["spec"]["queueName"] == TEAM_B
    assert len(world.jobs[job_id].nodes) == len(world.of_job(PODS, job_id)) == 2
    await world.scancel(job_id)
    await world.until_quiet()
