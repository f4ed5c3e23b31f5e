"""Job arrays: as many tasks at a time as there is quota, and what happens to one of them."""

from __future__ import annotations

import asyncio

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import HIGH, TEAM_B
from k8s_bridge.sandbox.world.slurm import JobFact
from support.e2e.keeper import bridge_of, unit

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]

LONG = 60.0


def tasks(world: World, array: int) -> dict[int, JobFact]:
    """The records of the tasks that have started once, by number."""
    facts = (fact for fact in world.jobs.values() if fact.unit == array)
    return {fact.task: fact for fact in facts if fact.task is not None}


def running(world: World, array: int) -> dict[int, JobFact]:
    return {number: task for number, task in tasks(world, array).items() if task.running}


async def all_complete(world: World, array: int, *, count: int, seconds: float = 90.0) -> None:
    def over() -> bool:
        found = tasks(world, array)
        return len(found) == count and all(task.over for task in found.values())

    await world.until(over, what=f"all {count} tasks of array {array} are over", seconds=seconds)
    assert {task.state for task in tasks(world, array).values()} == {"COMPLETED"}


async def some_run(world: World, array: int, count: int) -> dict[int, JobFact]:
    await world.until(lambda: len(running(world, array)) == count, what=f"{count} tasks run", seconds=60)
    return running(world, array)


async def runs_again(world: World, array: int, number: int, *, nodes: tuple[str, ...]) -> None:
    """The task was requeued once and runs on other nodes than before."""

    def elsewhere() -> bool:
        task = tasks(world, array)[number]
        return task.running and task.restarts == 1 and not set(task.nodes) & set(nodes)

    await world.until(elsewhere, what=f"task {number} runs on other nodes than {nodes}", seconds=60)


async def one_is_requeued(world: World, array: int) -> int:
    def requeued() -> list[int]:
        return [number for number, times in restarts(world, array).items() if times]

    (lost,) = await world.until(requeued, what="a task is requeued", seconds=60)
    return lost


def restarts(world: World, array: int) -> dict[int, int]:
    return {number: task.restarts for number, task in sorted(tasks(world, array).items())}


def slots_of(world: World, array: int) -> set[str]:
    """All JobSets that the array ever had."""
    return {span.name for span in world.timeline.jobsets if span.job_id == array}


async def test_an_array_runs_on_as_many_slots_as_there_is_quota(world: World):
    array = await world.sbatch(JobRequest(array="0-39:2", cpus_per_task=2, seconds=0.4))

    await all_complete(world, array, count=20)
    timeline = await world.until_quiet()

    assert set(tasks(world, array)) == set(range(0, 40, 2))
    assert timeline.peak["cpu"] == 8_000
    pods = [span for span in timeline.pods if span.job_id == array]
    assert len(pods) < 20, "a task had a pod of its own"


async def test_a_thousand_tasks_need_no_more_objects_than_run_at_a_time(world: World):
    array = await world.sbatch(JobRequest(array="0-999%4", seconds=0.0))

    await some_run(world, array, 4)
    await world.until(lambda: len(tasks(world, array)) >= 20, what="slots serve one task after another")
    made = slots_of(world, array)
    await world.scancel(array)
    await world.until_quiet()

    assert len(made | slots_of(world, array)) == 4


async def test_no_more_tasks_run_at_a_time_than_the_array_allows(world: World):
    array = await world.sbatch(JobRequest(array="1-6%2", seconds=0.4))

    await all_complete(world, array, count=6)

    assert len(slots_of(world, array)) == 2


async def test_a_list_of_tasks_runs_as_those_tasks(world: World):
    array = await world.sbatch(JobRequest(array="3,7-9,20", seconds=0.3))

    await all_complete(world, array, count=5)

    assert set(tasks(world, array)) == {3, 7, 8, 9, 20}


async def test_a_preempted_slot_loses_its_task_alone_and_the_task_runs_later(world: World):
    array = await world.sbatch(JobRequest(array="0-3", cpus_per_task=2, seconds=LONG))
    before = await some_run(world, array, 4)

    world.submit_job("one-node-report", queue=TEAM_B, priority=HIGH, cpus=2, seconds=1.0)

    await world.until(
        lambda: sum(restarts(world, array).values()) == 1, what="one task is requeued", seconds=60
    )
    (lost,) = [number for number, times in restarts(world, array).items() if times]
    await runs_again(world, array, lost, nodes=before[lost].nodes)
    assert sorted(restarts(world, array).values()) == [0, 0, 0, 1]
    (eviction,) = [e for e in world.timeline.evictions if e.job_id == array]
    assert eviction.reason == "Preempted"
    await world.scancel(array)


async def test_a_lost_pod_of_one_slot_is_replaced_and_only_its_task_runs_again(world: World):
    array = await world.sbatch(JobRequest(array="0-2", seconds=LONG))
    before = await some_run(world, array, 3)

    world.delete(PODS, before[1].nodes[0])

    await runs_again(world, array, 1, nodes=before[1].nodes)
    assert restarts(world, array) == {0: 0, 1: 1, 2: 0}
    await world.scancel(array)


async def test_a_deleted_slot_is_made_anew(world: World):
    array = await world.sbatch(JobRequest(array="0-1", seconds=LONG))
    before = await some_run(world, array, 2)

    world.delete(JOBSETS, before[1].nodes[0].rsplit("-g0-", 1)[0])

    await runs_again(world, array, 1, nodes=before[1].nodes)
    assert restarts(world, array) == {0: 0, 1: 1}
    await world.scancel(array)


async def test_a_task_that_an_operator_requeues_runs_again_and_the_others_go_on(world: World):
    array = await world.sbatch(JobRequest(array="0-1", seconds=LONG))
    await some_run(world, array, 2)

    await world.slurm.requeue(array, task=0)

    await world.until(lambda: restarts(world, array) == {0: 1, 1: 0}, what="task 0 is requeued")
    await some_run(world, array, 2)
    await world.scancel(array)


async def test_scancel_of_a_running_and_of_a_waiting_task_ends_just_these(world: World):
    array = await world.sbatch(JobRequest(array="0-3%2", seconds=LONG))
    await some_run(world, array, 2)

    await world.slurm.cancel(array, task=3)
    await world.slurm.cancel(array, task=0)

    await world.until(lambda: sorted(running(world, array)) == [1, 2], what="task 2 takes the free place")
    await world.slurm.cancel(array, task=2)
    await world.until(lambda: len(world.of_job(JOBSETS, array)) == 1, what="a slot is given back")
    await world.until(lambda: sorted(running(world, array)) == [1], what="task 1 goes on alone")
    assert restarts(world, array)[1] == 0
    await world.scancel(array)


async def test_scancel_of_a_whole_array_gives_everything_back(world: World):
    array = await world.sbatch(JobRequest(array="0-19", cpus_per_task=2, seconds=LONG))
    await some_run(world, array, 4)

    await world.scancel(array)

    await world.until(lambda: not world.of_job(JOBSETS, array), what="its JobSets are gone")


async def test_an_array_that_is_held_while_it_runs_finishes_what_runs_and_gives_the_rest_back(world: World):
    array = await world.sbatch(JobRequest(array="0-3%2", seconds=LONG))
    await some_run(world, array, 2)

    await world.slurm.hold(array)
    for task in (0, 1):
        await world.slurm.cancel(array, task=task)

    await world.until(lambda: not world.of_job(JOBSETS, array), what="its JobSets are gone", seconds=90)
    assert sorted(tasks(world, array)) == [0, 1]
    await unit(world, array, "HeldByOther", seconds=60)
    await world.slurm.release(array)
    assert sorted(await some_run(world, array, 2)) == [2, 3]
    await world.scancel(array)


async def test_an_array_that_is_released_past_kueue_is_held_again(world: World):
    hog = await world.sbatch(JobRequest(ntasks=8, seconds=LONG))
    await world.until_state(hog, "RUNNING")
    array = await world.sbatch(JobRequest(array="0-1", seconds=0.3))
    await world.until(lambda: world.of_job(JOBSETS, array), what="a slot waits for quota")

    await world.slurm.release(array)
    await world.slurm.refresh()  # it was held before: what was read before the release says nothing

    def held_again() -> bool:
        records = [job for job in world.jobs.values() if job.unit == array and not job.over]
        return bool(records) and all(job.reason == "JobHeldAdmin" for job in records)

    await world.until(held_again, what="it is held again")
    assert not tasks(world, array)
    await world.scancel(hog)
    await all_complete(world, array, count=2)


async def test_a_task_of_several_nodes_has_them_all_in_one_slot(world: World):
    array = await world.sbatch(JobRequest(array="0-9", nodes="2", seconds=1.0))

    await all_complete(world, array, count=10)

    slots = {pod.name: pod.jobset for pod in world.timeline.pods}
    starts = [start for start in world.timeline.starts if start.job_id == array]
    assert {len({slots[node] for node in start.nodes}) for start in starts} == {1}
    assert len({slots[node] for start in starts for node in start.nodes}) > 1, "one slot did everything"


async def test_an_array_of_two_node_tasks_loses_one_task_with_a_slot(world: World):
    array = await world.sbatch(JobRequest(array="0-3", nodes="2", ntasks=2, seconds=LONG))
    before = await some_run(world, array, 4)

    world.submit_job("two-node-report", queue=TEAM_B, priority=HIGH, cpus=2, seconds=1.0)

    await world.until(
        lambda: sum(restarts(world, array).values()) == 1, what="one task is requeued", seconds=60
    )
    (lost,) = [number for number, times in restarts(world, array).items() if times]
    await runs_again(world, array, lost, nodes=before[lost].nodes)
    assert sorted(restarts(world, array).values()) == [0, 0, 0, 1]
    await world.scancel(array)


async def test_two_arrays_and_a_job_share_the_quota(world: World):
    arrays = [await world.sbatch(JobRequest(array="0-7", cpus_per_task=2, seconds=0.5)) for _ in range(2)]
    single = await world.sbatch(JobRequest(ntasks=4, seconds=0.5))

    await world.until_state(single, "COMPLETED", seconds=60)
    for array in arrays:
        await all_complete(world, array, count=8)


async def test_an_array_ends_the_same_when_the_bridge_is_killed_again_and_again(world: World):
    array = await world.sbatch(JobRequest(array="0-19", cpus_per_task=2, seconds=1.0))

    for _ in range(4):
        await asyncio.sleep(0.9)
        await bridge_of(world).kill()
        await asyncio.sleep(0.5)
        await bridge_of(world).start()

    await all_complete(world, array, count=20, seconds=90)
    assert set(restarts(world, array).values()) == {0}


async def test_slots_that_wait_are_given_back_when_no_task_is_left_for_them(world: World):
    array = await world.sbatch(JobRequest(array="0-3", cpus_per_task=4, seconds=LONG))
    await some_run(world, array, 2)
    await world.until(lambda: len(world.of_job(JOBSETS, array)) == 4, what="two more slots wait")

    await world.slurm.cancel(array, task=2)
    await world.slurm.cancel(array, task=3)

    await world.until(lambda: len(world.of_job(JOBSETS, array)) == 2, what="they are given back")
    assert len(running(world, array)) == 2
    await world.scancel(array)


async def test_people_can_see_each_slot(world: World):
    array = await world.sbatch(JobRequest(array="0-3", cpus_per_task=4, seconds=LONG))
    await some_run(world, array, 2)
    await world.until(lambda: len(world.of_job(JOBSETS, array)) == 4, what="two more slots wait")

    await unit(world, array, "Running", text="2 task(s) run, 2 wait; 2 slot(s) serve")
    for number, state in enumerate(["Running", "Running", "Queued", "Queued"]):
        await unit(world, f"{array}-s{number}", state)
    await world.scancel(array)
