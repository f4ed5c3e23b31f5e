"""A thousand tasks start, end and are purged, and none of them is asked about."""

from __future__ import annotations

import pytest

from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client.results import Glance
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.poller.doubt import Doubt
from k8s_bridge.slurm.poller.jobs import JobMirror
from k8s_bridge.slurm.poller.tasks import derive
from tests.unit.slurm.poller.fake import COMPLETED, PENDING, RUNNING, Clock, FakeSlurm, job, job_table

ARRAY = 7


def array(job_id: int = ARRAY, *, size: int = 3) -> Job:
    return job(job_id, array_job_id=job_id, array_task_string=f"0-{size - 1}", array_size=size)


class Arrays(FakeSlurm):
    """Starts tasks as slurmctld does: under new ids, and the last one under the array's own."""

    def start(self, array_id: int, new_id: int) -> None:
        tasks = sorted(self.tasks[array_id])
        if len(tasks) == 1:
            new_id = array_id
        self.tasks[array_id] = frozenset(tasks[1:])
        self.tasks[new_id] = frozenset(tasks[:1])
        self.put(job(new_id, RUNNING, array_job_id=array_id, array_task_id=tasks[0]))

    def ends(self, job_id: int) -> None:
        row = self.jobs_by_id[job_id]
        self.put(job(job_id, COMPLETED, array_job_id=row.array_job_id, array_task_id=row.array_task_id))


def slurm_with(*arrays: Job) -> Arrays:
    slurm = Arrays(*arrays)
    for one in arrays:
        slurm.tasks[one.job_id] = frozenset(range(one.array_size))
    return slurm


async def mirror_of(slurm: Arrays, table: Table[Job]) -> JobMirror:
    """A mirror that has listed everything, and looked at the states once."""
    clock = Clock()
    doubt = Doubt(clock=clock, report=lambda _: None)
    mirror = JobMirror(slurm, table, interest=tuple, period=10.0, clock=clock, doubt=doubt)
    await mirror.refresh()
    await mirror.refresh()
    return mirror


async def test_a_whole_array_runs_without_a_question_about_a_task() -> None:
    slurm, table = slurm_with(array(size=50)), job_table()
    mirror = await mirror_of(slurm, table)
    for new_id in range(100, 150):
        slurm.start(ARRAY, new_id)
        await mirror.refresh()
    for job_id in (ARRAY, *range(100, 149)):
        slurm.ends(job_id)
    await mirror.refresh()
    assert slurm.read == []
    assert {row.array_task_id for row in table.values()} == set(range(50))
    assert {row.states for row in table.values()} == {COMPLETED}
    slurm.purge(*slurm.jobs_by_id)
    await mirror.refresh()
    assert (slurm.read, table.values()) == ([], ())


async def test_the_array_counts_the_tasks_that_wait() -> None:
    slurm, table = slurm_with(array(size=5)), job_table()
    mirror = await mirror_of(slurm, table)
    slurm.start(ARRAY, 100)
    slurm.start(ARRAY, 101)
    await mirror.refresh()
    row = table.get(str(ARRAY))
    assert row
    assert (row.array_size, row.pending) == (3, True)


async def test_a_requeued_task_is_read() -> None:
    slurm, table = slurm_with(array()), job_table()
    mirror = await mirror_of(slurm, table)
    slurm.start(ARRAY, 100)
    await mirror.refresh()
    slurm.put(job(100, PENDING, array_job_id=ARRAY, array_task_id=0, restart_count=1))
    await mirror.refresh()
    assert slurm.read == [100]
    row = table.get("100")
    assert row
    assert row.restart_count == 1


async def test_of_two_arrays_that_start_the_same_task_at_once_the_tasks_are_read() -> None:
    slurm, table = slurm_with(array(7), array(8)), job_table()
    mirror = await mirror_of(slurm, table)
    slurm.start(7, 100)
    slurm.start(8, 101)
    await mirror.refresh()
    assert sorted(slurm.read) == [100, 101]


async def test_a_cancelled_array_is_read_once() -> None:
    slurm, table = slurm_with(array()), job_table()
    mirror = await mirror_of(slurm, table)
    slurm.put(job(ARRAY, frozenset({"CANCELLED"}), array_job_id=ARRAY, array_task_string="0-2"))
    await mirror.refresh()
    await mirror.refresh()
    assert slurm.read == [ARRAY]


async def test_a_list_of_tasks_that_slurmctld_cut_is_counted_by_the_states() -> None:
    slurm, table = slurm_with(array(size=40)), job_table()
    cut = job(ARRAY, array_job_id=ARRAY, array_task_string="0,2,4,...%3", array_size=3, comment="new")
    mirror = await mirror_of(slurm, table)
    slurm.put(cut)
    mirror.written([ARRAY])
    await mirror.refresh()
    row = table.get(str(ARRAY))
    assert row
    assert (row.comment, row.array_size) == ("new", 40)


@pytest.mark.parametrize("states", [PENDING, PENDING | {"REQUEUED"}])
def test_a_task_that_waits_again_follows_from_nothing(states) -> None:
    table: Table[Job] = job_table()
    table.upsert(array())
    before = {ARRAY: Glance(PENDING, frozenset({0, 1, 2}))}
    now = {ARRAY: Glance(PENDING, frozenset({1, 2})), 100: Glance(states, frozenset({0}))}
    rows = derive(before, now, row=lambda job_id: table.get(str(job_id)))
    assert [row.job_id for row in rows] == [ARRAY]
