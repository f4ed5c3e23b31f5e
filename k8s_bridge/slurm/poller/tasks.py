"""Array tasks as they start, end and are purged, told from two lists of states: no task is asked about. Pure.

A waiting array lists its tasks under its own id (`7_0`, `7_1`). A task that starts gets a job id of its own
and is listed under that (`9_0`), without a word of the array: it is the one that has lost that task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from k8s_bridge.slurm.client.results import Glance
from k8s_bridge.slurm.model import PENDING, Job

Glances = Mapping[int, Glance]
Row = Callable[[int], Job | None]

_CUT = "..."


def derive(before: Glances, now: Glances, *, row: Row) -> Iterator[Job]:
    """Rows that follow from the lists and the rows that are there; what does not follow has to be read."""
    arrays = _arrays_that_lost(before, now, row=row)
    for job_id, glance in now.items():
        known = row(job_id)
        if known is None:
            yield from _started(job_id, glance, arrays)
        elif known.array_job_id is not None:
            yield from _changed(known, glance)


def sized(job: Job, glance: Glance | None) -> Job:
    """A record with the number of its waiting tasks: slurmctld cuts a long list of them."""
    if glance is None or _CUT not in job.array_task_string:
        return job
    return msgspec.structs.replace(job, array_size=len(glance.tasks))


def purged(job: Job) -> bool:
    """Whether a row that is not listed any more was a task that is over: nobody has to ask after it."""
    return job.array_job_id is not None and job.terminal


def _arrays_that_lost(before: Glances, now: Glances, *, row: Row) -> dict[int, list[Job]]:
    """By task number the arrays under which it is not listed any more."""
    found: dict[int, list[Job]] = {}
    for job_id, glance in before.items():
        lost = glance.tasks - now[job_id].tasks if job_id in now else glance.tasks
        array = row(job_id) if lost else None
        if array is not None and array.array_job_id == job_id and array.array_task_id is None:
            for task in lost:
                found.setdefault(task, []).append(array)
    return found


def _started(job_id: int, glance: Glance, arrays: Mapping[int, list[Job]]) -> Iterator[Job]:
    """A new id. Two arrays that lost the same task at once cannot be told apart, nor can a requeued task."""
    if PENDING in glance.states or len(glance.tasks) != 1:
        return
    (task,) = glance.tasks
    candidates = arrays.get(task, [])
    if len(candidates) == 1:
        yield _task(candidates[0], job_id=job_id, number=task, states=glance.states)


def _changed(row: Job, glance: Glance) -> Iterator[Job]:
    if PENDING in glance.states:
        if row.array_task_id is None and row.array_size != len(glance.tasks):
            yield msgspec.structs.replace(row, array_size=len(glance.tasks))
    elif row.states != glance.states and len(glance.tasks) == 1:
        (number,) = glance.tasks  # an array's last task runs under the array's own id
        yield _task(row, job_id=row.job_id, number=number, states=glance.states)


def _task(array: Job, *, job_id: int, number: int, states: frozenset[str]) -> Job:
    return msgspec.structs.replace(
        array,
        job_id=job_id,
        states=states,
        held=False,
        reason="",
        array_task_id=number,
        array_task_string="",
        array_size=0,
    )
