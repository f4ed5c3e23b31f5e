"""Combinations that sbatch accepts and that slurmctld then starts on no nodes whatever, as a table.

Tried on 22.05 and 24.11; such a job would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from k8s_bridge.slurm.layout import blame
from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.request import Request


@dataclass(frozen=True, slots=True)
class _Row:
    option: Callable[[Request], str]
    shows: Callable[[Request], bool]
    text: str


def check_startable(request: Request) -> None:
    """Unmet for a request that Slurm itself never starts."""
    for row in _ROWS:
        if row.shows(request):
            raise Unmet(row.option(request), row.text)


def _more_cpus_than_room(request: Request) -> bool:
    """22.05 does not tell -c from --mincpus."""
    return request.cpu_step > 0 and 0 < request.room * request.cpus_per_task < request.min_cpus


def _one_wide_task(request: Request) -> bool:
    return request.tasks == 1 and request.cpus_per_task > 1 and request.room > 1


def _spread_by_itself(request: Request) -> bool:
    """Tasks follow from GPUs, and sbatch has not counted nodes by them."""
    counted = request.gres_per_task and (request.gres_per_node or request.gres_per_job)
    return bool(counted) and 0 < request.nodes * request.room < request.tasks


def _tasks_below_room(request: Request) -> bool:
    ranged = request.max_nodes is not None and request.max_nodes > request.nodes
    return bool(request.gres_per_task) and (ranged or not request.cpu_step) and request.tasks < request.room


def _cpus_of_fewer_tasks(request: Request) -> bool:
    """Tasks follow from GPUs, and sbatch has not counted CPUs by them."""
    few = request.cpus < request.tasks * request.cpus_per_task
    return request.cpu_step > 0 and bool(request.gres_per_task and request.gres_per_job) and few


def _cpus_make_tasks(request: Request) -> bool:
    """For want of a number, slurmctld counts tasks by the CPUs of all nodes, and has none for the last."""
    if request.tasks_asked or request.bare or not request.cpu_step:
        return False
    wide = request.min_cpus > request.cpus_per_task * max(1, request.room)
    return wide and request.min_cpus % request.cpus_per_task > 0


def _cpus_of_no_gpu(request: Request) -> bool:
    asked = (*request.gres_per_node, *request.gres_per_task, *request.gres_per_job)
    return request.cpus_per_gpu > 0 and all(name != "gpu" for name, _, _ in asked)


_ROWS = (
    _Row(
        lambda _: "--cpus-per-gpu",
        _cpus_of_no_gpu,
        "No GPU is asked for; ask for some, or for --cpus-per-task.",
    ),
    _Row(
        lambda _: "--mincpus",
        _more_cpus_than_room,
        "Slurm takes no node for more CPUs than its --ntasks-per-node tasks have; give one of the two.",
    ),
    _Row(
        blame.for_room,
        _one_wide_task,
        "Slurm never starts a single task of several CPUs with this option; leave it out.",
    ),
    _Row(
        lambda _: "--gpus-per-task",
        _spread_by_itself,
        "Slurm starts the tasks that follow from the GPUs on too few nodes; say how many nodes with --nodes.",
    ),
    _Row(
        lambda _: "--gpus-per-task",
        _cpus_of_fewer_tasks,
        "Slurm counts too few CPUs for the tasks that it makes of the GPUs; give --ntasks as well.",
    ),
    _Row(
        lambda _: "--mincpus",
        _cpus_make_tasks,
        "Slurm counts tasks by it and then finds no nodes; give --ntasks, or a multiple of --cpus-per-task.",
    ),
    _Row(
        blame.for_room,
        _tasks_below_room,
        "Slurm never starts fewer tasks than this with GPUs for each; ask for as many with --ntasks.",
    ),
)
