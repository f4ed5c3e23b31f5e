"""How many nodes a job gets, and which of them are equal.

The nodes together have just what the job asked for, so that it needs every one of them.
"""

from __future__ import annotations

from itertools import pairwise

from k8s_bridge.slurm.layout.blame import for_nodes
from k8s_bridge.slurm.layout.dealing import tasks_per_gres
from k8s_bridge.slurm.layout.limits import MAX_NODES
from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.request import Per, Request
from k8s_bridge.slurm.layout.tres import Gres
from k8s_bridge.slurm.layout.types import NodeShape


def node_count(request: Request, *, node_shape: NodeShape | None) -> int:
    """As many nodes as -N says, or as many virtual nodes as a bare request fills."""
    nodes = request.nodes
    if request.tasks_per_node:
        nodes = max(nodes, ceil_div(request.tasks, request.tasks_per_node))
    if request.bare and node_shape is not None:
        nodes = max(nodes, _packed(request, node_shape))
    if request.max_nodes is not None and nodes > request.max_nodes:
        raise Unmet(
            "--gpus" if request.gres_per_job and request.gres_per_node else "--nodes",
            f"The request fills {nodes} nodes but only {request.max_nodes} may be used; "
            "raise the maximum or ask for less.",
        )
    if nodes > MAX_NODES:
        raise Unmet(
            for_nodes(request), f"{nodes} nodes are more than the limit of {MAX_NODES}; ask for fewer."
        )
    return nodes


def segments(totals: tuple[int, ...], *, nodes: int) -> tuple[tuple[int, int], ...]:
    """Runs (first index, count) of nodes whose shares of every one of `totals` are equal."""
    if nodes == 1:
        return ((0, 1),)
    cuts = sorted({0, nodes, *(total % nodes for total in totals)})
    return tuple((first, after - first) for first, after in pairwise(cuts))


def gpus_of(gres: tuple[Gres, ...]) -> int:
    """GPUs of all types in `gres`."""
    return sum(count for name, _, count in gres if name == "gpu")


def ceil_div(total: int, part: int) -> int:
    """`total / part`, rounded up."""
    return -(-total // part)


def _packed(request: Request, shape: NodeShape) -> int:
    """Virtual nodes that tasks and job-wide GPUs fill. What fits none alone is one a node (and refused)."""
    tasks, gpus = _tasks_that_fit(request, shape), gpus_of(request.gres_per_job)
    if not gpus:
        return ceil_div(request.tasks, max(1, tasks))
    fit = _gpus_that_fit(request, shape)
    together = tasks_per_gres(request, nodes=request.nodes)
    if together:
        return ceil_div(gpus, max(1, min(fit, tasks // together)))
    per_task, rest = divmod(gpus, request.tasks)
    if rest == 0 and per_task <= fit:
        return ceil_div(request.tasks, max(1, min(tasks, fit // per_task)))
    return max(ceil_div(request.tasks, max(1, tasks)), ceil_div(gpus, max(1, fit)))


def _tasks_that_fit(request: Request, shape: NodeShape) -> int:
    cpus = request.cpus_per_task
    limits = [shape.cpus // cpus]
    if shape.memory is not None and request.memory_per is Per.CPU:
        limits.append(shape.memory // (request.memory * cpus))
    gpus = gpus_of(request.gres_per_task)
    if gpus:
        limits.append(_gpus_that_fit(request, shape) // gpus)
    return min(limits)


def _gpus_that_fit(request: Request, shape: NodeShape) -> int:
    limits = [shape.gpus or gpus_of(request.gres_per_job) or request.tasks * gpus_of(request.gres_per_task)]
    if request.cpus_per_gpu:
        limits.append(shape.cpus // request.cpus_per_gpu)
    if shape.memory is not None and request.memory_per is Per.GPU and request.memory:
        limits.append(shape.memory // request.memory)
    return min(limits)
