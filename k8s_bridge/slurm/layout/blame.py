"""Which option a number came from, so that a refusal can name what the user typed.

The record does not tell --gres from --gpus-per-node, nor --gpus-per-task from --tres-per-task: the first of
them is named.
"""

from __future__ import annotations

from k8s_bridge.slurm.layout.request import Per, Request

_MEMORY = {Per.CPU: "--mem-per-cpu", Per.GPU: "--mem-per-gpu"}


def for_cpus(request: Request) -> str:
    """Of a node's CPUs."""
    per_task = request.cpus_per_task
    if request.cpus_per_gpu:
        return "--cpus-per-gpu"
    if request.min_cpus > per_task * max(1, request.room):
        return "--mincpus"
    if per_task > 1:
        return "--cpus-per-task"
    return for_room(request) if request.room > 1 else "--ntasks"


def for_memory(request: Request) -> str:
    """Of a node's memory."""
    return _MEMORY.get(request.memory_per, "--mem")


def for_gres(request: Request, name: str) -> str:
    """Of the GRES `name`."""
    if name in _names(request.gres_per_node):
        return "--gres"
    if name in _names(request.gres_per_task):
        return "--gpus-per-task"
    return "--gpus"


def for_gpus(request: Request) -> str:
    """Of a node's GPUs."""
    return for_gres(request, "gpu")


def for_room(request: Request) -> str:
    """Of the tasks that a node must have room for: sbatch counts them by GPUs per node and per task, too."""
    return "--gpus-per-task" if request.gres_per_node and request.gres_per_task else "--ntasks-per-node"


def for_nodes(request: Request) -> str:
    """Of the number of nodes."""
    if request.nodes > 1:
        return "--nodes"
    return for_room(request) if request.room else "--ntasks"


def _names(gres: tuple[tuple[str, str, int], ...]) -> set[str]:
    return {name for name, _, _ in gres}
