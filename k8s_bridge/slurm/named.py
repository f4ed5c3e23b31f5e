"""Whom people mean by a name of squeue's: a job, a task of an array, a component of a heterogeneous job."""

from __future__ import annotations

import re
from collections.abc import Iterator

from k8s_bridge.slurm.hostlist import expand
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.unit import Key, Unit

_NAME = re.compile(r"(?P<id>\d+)(?:_(?P<task>\d+)|_\[.*\]|\+\d+|\.\w+)?", re.ASCII)


def job_id_in(name: str) -> int | None:
    """The job id in such a name; None when it is none."""
    match = _NAME.fullmatch(name)
    return int(match["id"]) if match else None


def meant(name: str, observer: Observer) -> Iterator[tuple[Key, dict[str, str]]]:
    """The units that `42`, `42_3`, `42_[0-9]`, `42+1` or `42.batch` stands for, with what is theirs alone.

    A task and a component have job ids of their own, which stand for the array and the whole job too.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return
    own = observer.speaker(int(match["id"]))
    unit = observer.unit(own.unit_id if own else int(match["id"]))
    task = int(match["task"]) if match["task"] else own and own.array_task_id
    if unit.array is None or task is None:
        yield unit.key, {}
        return
    record = next((one for one in unit.array.records if one.array_task_id == task), None)
    yield unit.key, {f"task {task}": _told(record)}
    for slot in unit.array.slots:
        if record is not None and _is_on(record, slot):
            yield slot.key, {}


def _told(record: Job | None) -> str:
    if record is None:
        return "has not started yet, or is over"
    return " ".join(filter(None, (*sorted(record.states), record.nodes and f"on {record.nodes}")))


def _is_on(task: Job, slot: Unit) -> bool:
    return task.active and not {node.name for node in slot.nodes}.isdisjoint(expand(task.nodes))
