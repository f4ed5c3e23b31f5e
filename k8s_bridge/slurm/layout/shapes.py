"""The shape of one node: CPUs, memory and GRES for its share of the job."""

from __future__ import annotations

from k8s_bridge.slurm.layout.dealing import node_tasks
from k8s_bridge.slurm.layout.gres import node_gres
from k8s_bridge.slurm.layout.limits import MAX_CPUS, MAX_GRES, MAX_MEMORY
from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.request import Per, Request
from k8s_bridge.slurm.layout.spread import gpus_of
from k8s_bridge.slurm.layout.tres import Gres
from k8s_bridge.slurm.layout.types import Exclusive, NodeShape, Shape


def node_shape_of(
    request: Request, *, nodes: int, index: int, virtual: NodeShape | None, exclusive: Exclusive
) -> Shape:
    """The shape of node `index` of `nodes`. Unmet when it is too large, or larger than a virtual node."""
    tasks = node_tasks(request, nodes=nodes, index=index)
    gres = node_gres(request, tasks=tasks, nodes=nodes, index=index)
    whole = exclusive is Exclusive.ALWAYS
    cpus = max(1, tasks * request.cpus_per_task, request.min_cpus, gpus_of(gres) * request.cpus_per_gpu)
    if whole and virtual is not None:
        cpus = max(cpus, virtual.cpus)
        gres = _all_gpus(gres, virtual.gpus)
    memory = _memory(request, cpus=cpus, gpus=gpus_of(gres), virtual=virtual)
    if whole and virtual is not None:
        memory = max(memory, virtual.memory or 0)
    shape = Shape(cpus=cpus, memory=memory, gres=gres, whole_node=whole)
    _check_limits(shape)
    if request.bare and virtual is not None:
        _check_fits(shape, virtual)
    return shape


def _all_gpus(gres: tuple[Gres, ...], gpus: int) -> tuple[Gres, ...]:
    """`gres` with the GPUs of the whole node: nobody else can use them. Mixed types stay as asked."""
    kinds = {kind for name, kind, _ in gres if name == "gpu"} or {""}
    if gpus <= gpus_of(gres) or len(kinds) > 1:
        return gres
    others = (item for item in gres if item[0] != "gpu")
    return tuple(sorted((*others, ("gpu", kinds.pop(), gpus))))


def _memory(request: Request, *, cpus: int, gpus: int, virtual: NodeShape | None) -> int:
    if request.memory_per is Per.NODE:
        return request.memory
    if request.memory_per is Per.CPU:
        return request.memory * cpus
    if request.memory_per is Per.GPU:
        return request.memory * gpus
    if virtual is not None and virtual.memory is not None:
        whole = request.memory_per is Per.NODE_ALL
        return virtual.memory if whole else max(1, virtual.memory * cpus // virtual.cpus)
    if request.memory_per is Per.NODE_ALL:
        raise Unmet("--mem=0", "How much memory a whole node has is not known here; say how much is needed.")
    return 0


def _check_limits(shape: Shape) -> None:
    if shape.cpus > MAX_CPUS:
        raise Unmet(
            "--cpus-per-task",
            f"{shape.cpus} CPUs on one node are more than the limit of {MAX_CPUS}; "
            "ask for fewer, or spread the tasks with --nodes.",
        )
    if shape.memory > MAX_MEMORY:
        raise Unmet(
            "--mem",
            f"{shape.memory} MiB on one node are more than the limit of {MAX_MEMORY}; ask for less per node.",
        )
    for name, _, count in shape.gres:
        if count > MAX_GRES:
            raise Unmet(
                "--gres",
                f"{count} of {name} on one node are more than the limit of {MAX_GRES}; ask for less.",
            )


def _check_fits(shape: Shape, virtual: NodeShape) -> None:
    for option, unit, asked, there in (
        ("--cpus-per-task", "CPUs", shape.cpus, virtual.cpus),
        ("--mem", "MiB", shape.memory, virtual.memory),
        ("--gres", "GPUs", gpus_of(shape.gres), virtual.gpus or None),
    ):
        if there is not None and asked > there:
            raise Unmet(
                option,
                f"{asked} {unit} on one node are more than a virtual node of this partition has ({there}); "
                "ask for less per task.",
            )
