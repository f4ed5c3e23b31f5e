"""The TRES strings of a job, and what sbatch and slurmctld both make of them: they agree, or are refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from k8s_bridge.slurm.layout.tres import parse_gres
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """All that is asked of one GRES of one type; 0 is nothing."""

    name: str
    kind: str
    job: int
    node: int
    socket: int
    task: int
    cpus: int
    total: int = 0


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
    wanted = any(ask.name == _GPU and _is_wanted(ask) for ask in asks)
    if demand.tasks_per_gpu:
        demand, asks = _per_gpu(demand, asks, wanted=wanted)
        wanted = True
    if (tres.cpus or tres.memory) and not wanted:
        raise ScriptError("--cpus-per-gpu and --mem-per-gpu need a number of GPUs")
    for ask in asks:
        demand = _settled(demand, ask)
    _check_types(asks)
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


def _asks(demand: Demand, tres: Tres) -> list[_Ask]:
    strings = (tres.cpus, tres.per_job, tres.per_node, tres.per_socket, tres.per_task, tres.memory)
    cpus, job, node, socket, task, _ = counts = tuple(_counts(text) for text in strings)
    keys = dict.fromkeys(key for one in counts for key in one)
    asks = []
    for name, kind in keys:
        key = (name, kind)
        ask = _Ask(
            name=name,
            kind=kind,
            job=job.get(key, 0),
            node=node.get(key, 0),
            socket=socket.get(key, 0),
            task=task.get(key, 0),
            cpus=cpus.get(key, 0),
        )
        asks.append(replace(ask, total=_total(ask, demand)))
    return asks


def _counts(text: str) -> dict[tuple[str, str], int]:
    """Of an item that is there twice the later counts."""
    found: dict[tuple[str, str], int] = {}
    for item in text.split(","):
        if not item.startswith("gres"):
            continue
        gres = parse_gres(item)
        if gres is None:
            raise ScriptError(f"{item!r} is not a GRES such as gpu:2 or gpu:a100:2")
        found.update({(name, kind): count for name, kind, count in gres})
    return found


def _total(ask: _Ask, demand: Demand) -> int:
    nodes, tasks = demand.min_nodes, demand.tasks
    return max(
        ask.job,
        ask.node * (1 if nodes is None else nodes),
        ask.socket * (demand.sockets_per_node or 1) * (nodes or 1),
        ask.task * (1 if tasks is None else tasks),
    )


def _is_wanted(ask: _Ask) -> bool:
    return bool(ask.job or ask.node or ask.socket or ask.task)


def _per_gpu(demand: Demand, asks: list[_Ask], *, wanted: bool) -> tuple[Demand, list[_Ask]]:
    """--ntasks-per-gpu: tasks follow from GPUs, or GPUs from tasks."""
    assert demand.tasks_per_gpu is not None
    if wanted:
        gpus = sum(ask.total for ask in asks if ask.name == _GPU)
        return replace(demand, tasks=gpus * demand.tasks_per_gpu), asks
    if not demand.tasks:
        raise ScriptError("--ntasks-per-gpu needs a number of GPUs, or of tasks")
    gpus, rest = divmod(demand.tasks, demand.tasks_per_gpu)
    if rest:
        raise ScriptError("--ntasks has to be a multiple of --ntasks-per-gpu")
    cpus = max((ask.cpus for ask in asks), default=0)
    made = _Ask(name=_GPU, kind="", job=gpus, node=0, socket=0, task=0, cpus=cpus, total=gpus)
    return demand, [made, *(ask for ask in asks if ask.name != _GPU)]


def _settled(demand: Demand, ask: _Ask) -> Demand:
    for rule in (_check_order, _nodes, _sockets, _tasks, _tasks_on_node, _tasks_on_socket, _cpus, _spread):
        demand = rule(demand, ask)
    return demand


def _check_order(demand: Demand, ask: _Ask) -> Demand:
    _need(not ask.job or ask.job >= max(ask.node, ask.task, ask.socket), ask, "for the job and for a part")
    _need(not ask.node or ask.node >= max(ask.task, ask.socket), ask, "for a node and for a part of it")
    _need(not ask.socket or demand.sockets_per_node is not None, ask, "a socket without --sockets-per-node")
    return demand


def _nodes(demand: Demand, ask: _Ask) -> Demand:
    if not (ask.job and ask.node):
        return demand
    nodes = _quotient(ask.job, ask.node, ask, "for the job and for a node")
    low, high = demand.min_nodes, demand.max_nodes
    inside = (low is None or nodes >= low) and (high is None or nodes <= high)
    _need(inside, ask, "for the job and for a node, against --nodes")
    return replace(demand, min_nodes=nodes, max_nodes=nodes)


def _sockets(demand: Demand, ask: _Ask) -> Demand:
    if ask.node and ask.socket:
        sockets = _quotient(ask.node, ask.socket, ask, "for a node and for a socket")
        _need(demand.sockets_per_node == sockets, ask, "for a node and for a socket")
    return demand


def _tasks(demand: Demand, ask: _Ask) -> Demand:
    if not ask.task:
        return demand
    if ask.job:
        tasks = _quotient(ask.job, ask.task, ask, "for the job and for a task")
        _need(demand.tasks in (None, tasks), ask, "for the job and for a task, against --ntasks")
        return replace(demand, tasks=tasks)
    _need(demand.tasks is not None, ask, "for a task without --ntasks or --gpus")
    return demand


def _tasks_on_node(demand: Demand, ask: _Ask) -> Demand:
    if not (ask.node and ask.task):
        return demand
    tasks = _quotient(ask.node, ask.task, ask, "for a node and for a task")
    _need((demand.tasks_per_node or tasks) == tasks, ask, "for a node and a task, and --ntasks-per-node")
    return replace(demand, tasks_per_node=tasks)


def _tasks_on_socket(demand: Demand, ask: _Ask) -> Demand:
    if not (ask.socket and ask.task):
        return demand
    tasks = _quotient(ask.socket, ask.task, ask, "for a socket and for a task")
    _need((demand.tasks_per_socket or tasks) == tasks, ask, "for a socket and a task")
    return replace(demand, tasks_per_socket=tasks)


def _cpus(demand: Demand, ask: _Ask) -> Demand:
    if not ask.cpus:
        return demand
    cpus = ask.cpus * ask.task
    _need(demand.cpus_per_task in (None, cpus), ask, "with --cpus-per-gpu and --cpus-per-task")
    return replace(demand, cpus_per_task=cpus) if cpus else demand


def _spread(demand: Demand, ask: _Ask) -> Demand:
    job = ask.job or ask.task * (demand.tasks or 0)
    if not job:
        return demand
    _need(demand.min_nodes is None or job >= demand.min_nodes, ask, "fewer than nodes")
    high = demand.max_nodes
    return demand if high is None else replace(demand, max_nodes=min(high, job))


def _check_types(asks: Iterable[_Ask]) -> None:
    """A GRES is asked for by type or without, not both."""
    typed = {ask.name for ask in asks if ask.kind}
    for ask in asks:
        _need(not (ask.name in typed and not ask.kind and _is_wanted(ask)), ask, "with and without a type")


def _quotient(total: int, part: int, ask: _Ask, how: str) -> int:
    whole, rest = divmod(total, part)
    _need(rest == 0, ask, how)
    return whole


def _need(is_met: bool, ask: _Ask, how: str) -> None:  # noqa: FBT001  # the condition is the point
    if not is_met:
        raise ScriptError(f"{ask.name} is asked for {how}: the numbers do not agree")
