"""The life of single jobs: from sbatch to nothing left, and what people may do to them on the way."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import EVENTS, JOBSETS, PODS, WORKLOADS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import BATCH, NAMESPACE, TEAM_A
from support.e2e.keeper import unit

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG = 600.0


async def running(world: World, **options: object) -> int:
    job_id = await world.sbatch(JobRequest(seconds=LONG, **options))
    await world.until_state(job_id, "RUNNING")
    return job_id


async def runs_again(world: World, job_id: int, *, nodes: tuple[str, ...]) -> None:
    """The job was requeued and has other nodes than before."""

    def elsewhere() -> bool:
        job = world.jobs[job_id]
        return job.running and bool(job.nodes) and not set(job.nodes) & set(nodes)

    await world.until(elsewhere, what=f"job {job_id} runs on other nodes than {nodes}", seconds=20)
    assert world.jobs[job_id].restarts >= 1


async def test_a_held_job_runs_on_its_own_nodes_and_leaves_nothing(world: World):
    job_id = await world.sbatch(JobRequest(name="one", nodes="2", ntasks=4, seconds=0.5))

    job = await world.until_state(job_id, "COMPLETED")
    await world.until_quiet()

    (start,) = [s for s in world.timeline.starts if s.job_id == job_id]
    pods = {span.name for span in world.timeline.pods if span.job_id == job_id}
    assert set(start.nodes) == pods
    assert len(pods) == 2
    assert job.restarts == 0
    assert "Released" in job.text


async def test_people_can_see_where_a_job_stands(world: World):
    job_id = await running(world, name="seen")

    row = await unit(world, job_id, "Running")
    assert (row["queue"], row["partition"]) == (TEAM_A, BATCH)
    await world.scancel(job_id)
    await world.until(
        lambda: any(
            event["reason"] == "JobOver" and str(job_id) in event["message"]
            for event in world.storage.list(EVENTS, namespace=NAMESPACE)
        ),
        what="an event tells that it is over",
    )


async def test_scancel_of_a_running_job_gives_everything_back(world: World):
    job_id = await running(world)

    await world.scancel(job_id)

    await world.until_state(job_id, "CANCELLED")
    await world.until(lambda: not world.of_job(JOBSETS, job_id), what="its JobSet is gone")


async def test_scancel_of_a_waiting_job_takes_it_out_of_the_queue(world: World):
    hog = await running(world, ntasks=8)
    job_id = await world.sbatch(JobRequest(ntasks=4))
    await world.until(lambda: world.workload(job_id), what="it is queued")

    await world.scancel(job_id)

    await world.until(lambda: not world.of_job(JOBSETS, job_id), what="its JobSet is gone")
    assert not [s for s in world.timeline.starts if s.job_id == job_id]
    await world.scancel(hog)


async def test_a_deleted_jobset_sends_the_job_back_to_the_queue(world: World):
    job_id = await running(world, nodes="2")
    before = world.jobs[job_id].nodes

    world.delete(JOBSETS, f"slurm-job-{job_id}")

    await runs_again(world, job_id, nodes=before)
    await world.scancel(job_id)


async def test_a_deleted_workload_sends_the_job_back_to_the_queue(world: World):
    job_id = await running(world)
    before, workload = world.jobs[job_id].nodes, world.workload(job_id)
    assert workload is not None

    world.delete(WORKLOADS, workload["metadata"]["name"])

    await runs_again(world, job_id, nodes=before)
    await world.scancel(job_id)


async def test_a_deleted_pod_is_replaced_and_the_job_runs_again(world: World):
    job_id = await running(world, nodes="2")
    before = world.jobs[job_id].nodes

    world.delete(PODS, before[0])

    def runs_on_live_pods() -> bool:
        job = world.jobs[job_id]
        return job.running and job.restarts >= 1 and before[0] not in job.nodes

    await world.until(runs_on_live_pods, what="the job runs without the deleted pod", seconds=20)
    await world.scancel(job_id)


async def test_a_job_that_fails_keeps_its_own_verdict(world: World):
    job_id = await world.sbatch(JobRequest(seconds=0.2, code=3))

    job = await world.until_state(job_id, "FAILED")

    assert job.reason == "NonZeroExitCode"
    assert job.restarts == 0


async def test_a_job_that_cannot_be_met_is_told_which_option_and_why(world: World):
    job_id = await world.sbatch(JobRequest(tmp=1024))

    await world.until(
        lambda: world.text(job_id).startswith("k8s-bridge: Refused: --tmp:"),
        what="the job's comment names the option",
    )

    assert not world.of_job(JOBSETS, job_id)
    assert world.jobs[job_id].held
    assert "--tmp" in (await unit(world, job_id, "Refused"))["text"]
    await world.scancel(job_id)
