"""The TRES strings of a job, and what sbatch and slurmctld both make of them: they agree, or are refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

from k8s_bridge.slurm.layout.tres import parse_gres
from k8s_bridge.slurm.script.agreement import Ask, check_types, settled
from k8s_bridge.slurm.script.demand import Demand
from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.settings import Settings

_GPU = "gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tres:
    """The strings by the record's names."""

    per_job: str = ""
    per_node: str = ""
    per_socket: str = ""
    per_task: str = ""
    cpus: str = ""
    """cpus_per_tres."""
    memory: str = ""
    """memory_per_tres."""


def tres_of(settings: Settings) -> Tres:
    """The strings that sbatch sends."""
    cpus, memory = settings.number("cpus_per_gpu"), settings.number("mem_per_gpu")
    per_node = (_gpus(settings.text("gpus_per_node")), settings.text("gres"))
    return Tres(
        per_job=_gpus(settings.text("gpus")),
        per_node=",".join(filter(None, per_node)),
        per_socket=_gpus(settings.text("gpus_per_socket")),
        per_task=settings.text("tres_per_task"),
        cpus="" if cpus is None else f"gres/gpu:{cpus}",
        memory="" if memory is None else f"gres/gpu:{memory}",
    )


def agree(demand: Demand, tres: Tres) -> Demand:
    """The demand, completed by what follows from its GRES. ScriptError when the two do not fit together."""
    if tres == Tres() and demand.tasks_per_gpu is None:
        return demand
    demand = _with_tasks(demand, tres)
    asks = _asks(demand, tres)
    if demand.tasks_per_gpu:
        demand, asks = _per_gpu(demand, asks)
    if not asks:
        return demand
    if (tres.cpus or tres.memory) and not _wants_gpus(asks):
        raise ScriptError("--cpus-per-gpu and --mem-per-gpu need a number of GPUs")
    for ask in asks:
        demand = settled(demand, ask)
    check_types(asks)
    cpus = max((ask.cpus for ask in asks), default=0) * sum(ask.total for ask in asks if ask.name == _GPU)
    return demand if cpus <= (demand.min_cpus or 0) else replace(demand, min_cpus=cpus)


def _gpus(text: str) -> str:
    return ",".join(f"gres/gpu:{item}" for item in text.split(",") if item)


def _with_tasks(demand: Demand, tres: Tres) -> Demand:
    """A fixed number of nodes gives the number of tasks where something is asked for each task."""
    if not (tres.per_task or demand.tasks_per_gpu) or demand.tasks is not None:
        return demand
    if demand.min_nodes is None or demand.min_nodes != demand.max_nodes:
        return demand
    nodes = demand.min_nodes
    if demand.tasks_per_gpu is not None:
        return replace(demand, tasks=nodes * demand.tasks_per_gpu)
    if demand.tasks_per_node is not None:
        return replace(demand, tasks=nodes * demand.tasks_per_node)
    return replace(demand, tasks=nodes) if demand.cpus_per_task is None else demand


def _asks(demand: Demand, tres: Tres) -> list[Ask]:
    strings = (tres.cpus, tres.per_job, tres.per_node, tres.per_socket, tres.per_task, tres.memory)
    items = tuple(_items(text) for text in strings)
    cpus, job, node, socket, task, _ = (dict(found) for found in items)
    keys = dict.fromkeys(key for found in items for key, _ in found)
    most = tuple(dict(sorted(found, key=lambda item: item[1])) for found in items)
    return [
        Ask(
            name=key[0],
            kind=key[1],
            job=job.get(key, 0),
            node=node.get(key, 0),
            socket=socket.get(key, 0),
            task=task.get(key, 0),
            cpus=cpus.get(key, 0),
            total=_total([counts.get(key, 0) for counts in most], demand),
        )
        for key in keys
    ]


def _items(text: str) -> list[tuple[tuple[str, str], int]]:
    """((name, type), count) of each GRES. Of one that is there twice the last counts, the most in totals."""
    found: list[tuple[tuple[str, str], int]] = []
    for item in text.split(","):
        if not item.startswith("gres"):
            continue
        gres = parse_gres(item)
        if gres is None:
            raise ScriptError(f"{item!r} is not a GRES such as gpu:2 or gpu:a100:2")
        found.extend(((name, kind), count) for name, kind, count in gres)
    return found


def _total(most: list[int], demand: Demand) -> int:
    _, job, node, socket, task, _ = most
    nodes, tasks = demand.min_nodes, demand.tasks
    return max(
        job,
        node * (1 if nodes is None else nodes),
        socket * (demand.sockets_per_node or 1) * (nodes or 1),
        task * (1 if tasks is None else tasks),
    )


def _wants_gpus(asks: list[Ask]) -> bool:
    return any(ask.name == _GPU and ask.is_wanted for ask in asks)


def _per_gpu(demand: Demand, asks: list[Ask]) -> tuple[Demand, list[Ask]]:
    """--ntasks-per-gpu: tasks follow from GPUs, or GPUs from tasks."""
    assert demand.tasks_per_gpu is not None
    if _wants_gpus(asks):
        gpus = sum(ask.total for ask in asks if ask.name == _GPU)
        if not gpus:
            raise ScriptError("--ntasks-per-gpu needs a number of GPUs above 0")
        return replace(demand, tasks=gpus * demand.tasks_per_gpu), asks
    if not demand.tasks:
        raise ScriptError("--ntasks-per-gpu needs a number of GPUs, or of tasks")
    gpus, rest = divmod(demand.tasks, demand.tasks_per_gpu)
    if gpus == 0:
        return demand, asks
    if rest:
        raise ScriptError("--ntasks has to be a multiple of --ntasks-per-gpu")
    cpus = max((ask.cpus for ask in asks), default=0)
    made = Ask(name=_GPU, kind="", job=gpus, node=0, socket=0, task=0, cpus=cpus, total=gpus)
    return demand, [made, *(ask for ask in asks if ask.name != _GPU)]
