"""The shape of one node: CPUs, memory and GRES for its share of the job."""

from __future__ import annotations

from k8s_bridge.slurm.layout import blame
from k8s_bridge.slurm.layout.dealing import node_tasks
from k8s_bridge.slurm.layout.gres import node_gres
from k8s_bridge.slurm.layout.limits import MAX_CPUS, MAX_GRES, MAX_MEMORY
from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.request import Per, Request
from k8s_bridge.slurm.layout.spread import ceil_div, gpus_of
from k8s_bridge.slurm.layout.tres import Gres
from k8s_bridge.slurm.layout.types import Exclusive, NodeShape, Shape


def node_shape_of(
    request: Request, *, nodes: int, index: int, virtual: NodeShape | None, exclusive: Exclusive
) -> Shape:
    """The shape of node `index` of `nodes`. Unmet when it is too large, or larger than a virtual node."""
    tasks = node_tasks(request, nodes=nodes, index=index)
    gres = node_gres(request, tasks=tasks, nodes=nodes, index=index)
    whole = exclusive is Exclusive.ALWAYS
    asked = _cpus(request, tasks=tasks, gpus=gpus_of(gres))
    cpus = max(asked, _least_cpus(request))
    if whole and virtual is not None:
        cpus = max(cpus, _whole(virtual.cpus, request))
        gres = _all_gpus(gres, virtual.gpus, cpus=cpus, cpus_per_gpu=request.cpus_per_gpu)
    asked = cpus if whole else asked
    memory = _memory(request, cpus=cpus, asked=asked, gpus=gpus_of(gres), virtual=virtual)
    if whole and virtual is not None:
        memory = max(memory, virtual.memory or 0)
    shape = Shape(cpus=cpus, memory=memory, gres=gres, whole_node=whole)
    _check_limits(shape, request)
    if request.bare and virtual is not None:
        _check_fits(shape, virtual, request)
    return shape


def _cpus(request: Request, *, tasks: int, gpus: int) -> int:
    """For the tasks that the node runs or must have room for, and at least --mincpus."""
    room, least = max(tasks, request.room) * request.cpus_per_task, request.min_cpus
    per_gpu = gpus * request.cpus_per_gpu
    if 0 < per_gpu < max(room, least):
        raise Unmet(
            "--cpus-per-gpu",
            f"The GPUs of a node give it {per_gpu} CPUs, its tasks need {max(room, least)}; ask for more.",
        )
    if least > room and _goes_with_gpus(request):
        raise Unmet(
            "--mincpus",
            f"Slurm gives a node {room} CPUs for the tasks of its GPUs; ask for more with --cpus-per-task.",
        )
    return max(1, room, least, per_gpu)


def _least_cpus(request: Request) -> int:
    """--mincpus, which 24.11 counts in whole tasks where no GRES is asked for."""
    step = request.cpu_step
    plain = not (request.gres_per_node or request.gres_per_task or request.gres_per_job)
    return ceil_div(request.min_cpus, step) * step if step and plain else request.min_cpus


def _goes_with_gpus(request: Request) -> bool:
    """CPUs stay with tasks, and tasks with GPUs. 22.05 does not tell -c from --mincpus."""
    return request.cpu_step > 0 and bool(request.gres_per_task or request.gres_per_job)


def _whole(cpus: int, request: Request) -> int:
    """CPUs of a whole node. 22.05 would share out those that make no task, and leave a node unused."""
    return cpus if request.cpu_step else cpus - cpus % request.cpus_per_task


def _all_gpus(gres: tuple[Gres, ...], gpus: int, *, cpus: int, cpus_per_gpu: int) -> tuple[Gres, ...]:
    """`gres` with the GPUs of the whole node, as far as it has CPUs for them. Mixed types stay as asked."""
    gpus = min(gpus, cpus // cpus_per_gpu) if cpus_per_gpu else gpus
    kinds = {kind for name, kind, _ in gres if name == "gpu"} or {""}
    if gpus <= gpus_of(gres) or len(kinds) > 1:
        return gres
    others = (item for item in gres if item[0] != "gpu")
    return tuple(sorted((*others, ("gpu", kinds.pop(), gpus))))


def _memory(request: Request, *, cpus: int, asked: int, gpus: int, virtual: NodeShape | None) -> int:
    """--mem-per-cpu is not paid for CPUs that only make whole tasks of --mincpus."""
    if request.memory_per is Per.NODE:
        return request.memory
    if request.memory_per is Per.CPU:
        return request.memory * asked
    if request.memory_per is Per.GPU:
        return request.memory * gpus
    if virtual is not None and virtual.memory is not None:
        whole = request.memory_per is Per.NODE_ALL
        return virtual.memory if whole else max(1, virtual.memory * cpus // virtual.cpus)
    if request.memory_per is Per.NODE_ALL:
        raise Unmet("--mem=0", "How much memory a whole node has is not known here; say how much is needed.")
    return 0


def _check_limits(shape: Shape, request: Request) -> None:
    if shape.cpus > MAX_CPUS:
        raise Unmet(
            blame.for_cpus(request),
            f"{shape.cpus} CPUs on one node are more than the limit of {MAX_CPUS}; "
            "ask for fewer, or spread the tasks with --nodes.",
        )
    if shape.memory > MAX_MEMORY:
        raise Unmet(
            blame.for_memory(request),
            f"{shape.memory} MiB on one node are more than the limit of {MAX_MEMORY}; ask for less per node.",
        )
    for name, _, count in shape.gres:
        if count > MAX_GRES:
            raise Unmet(
                blame.for_gres(request, name),
                f"{count} of {name} on one node are more than the limit of {MAX_GRES}; ask for less.",
            )


def _check_fits(shape: Shape, virtual: NodeShape, request: Request) -> None:
    for blamed, unit, asked, there in (
        (blame.for_cpus, "CPUs", shape.cpus, virtual.cpus),
        (blame.for_memory, "MiB", shape.memory, virtual.memory),
        (blame.for_gpus, "GPUs", gpus_of(shape.gres), virtual.gpus or None),
    ):
        if there is not None and asked > there:
            raise Unmet(
                blamed(request),
                f"{asked} {unit} on one node are more than a virtual node of this partition has ({there}); "
                "ask for less per task.",
            )
