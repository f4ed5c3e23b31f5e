"""The numbers that sbatch sends: what was given, and what it makes of it itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from k8s_bridge.slurm.hostlist import expand
from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.settings import Settings

_NOT_SAID = 2**16 - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Counts of one component; None is "not said". `min_nodes` and `min_cpus` are what slurmctld counts."""

    tasks: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    min_cpus: int | None = None
    cpus_per_task: int | None = None
    tasks_per_node: int | None = None
    tasks_per_gpu: int | None = None
    tasks_per_socket: int | None = None
    tasks_per_core: int | None = None
    sockets_per_node: int | None = None
    min_cpus_per_node: int | None = None
    overcommit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """sbatch's own view: a node count that was not given is 1, with no maximum (0)."""

    tasks: int
    tasks_set: bool
    nodes_set: bool
    min_nodes: int
    max_nodes: int


def demand_of(settings: Settings) -> Demand:
    """The demand. ScriptError when the node list cannot be read."""
    counts = _massaged(_counts(settings), settings)
    return Demand(
        tasks=counts.tasks if counts.tasks_set else None,
        min_nodes=_min_nodes(counts, per_node=settings.number("ntasks_per_node")),
        max_nodes=(counts.max_nodes or None) if counts.nodes_set else None,
        min_cpus=_min_cpus(counts, settings),
        cpus_per_task=_short(settings.number("cpus_per_task")),
        tasks_per_node=_short(settings.number("ntasks_per_node")),
        tasks_per_gpu=settings.number("ntasks_per_tres") or settings.number("ntasks_per_gpu"),
        tasks_per_socket=settings.number("ntasks_per_socket"),
        tasks_per_core=settings.number("ntasks_per_core"),
        sockets_per_node=settings.number("sockets_per_node"),
        min_cpus_per_node=_short(_min_cpus_per_node(settings)),
        overcommit=settings.has("overcommit"),
    )


def _counts(settings: Settings) -> _Counts:
    nodes_set, listed = settings.has("nodes_set"), settings.text("nodelist")
    min_nodes, max_nodes = settings.number("min_nodes"), settings.number("max_nodes")
    counts = _Counts(
        tasks=settings.number("ntasks") or 1,
        tasks_set=settings.has("ntasks"),
        nodes_set=nodes_set,
        min_nodes=1 if min_nodes is None else min_nodes,
        max_nodes=max_nodes or 0,
    )
    if nodes_set or not listed:
        return counts
    try:
        return replace(counts, nodes_set=True, min_nodes=len(set(expand(listed))))
    except ValueError as error:
        raise ScriptError(f"--nodelist: {error}") from error


def _massaged(counts: _Counts, settings: Settings) -> _Counts:
    fixed = counts.max_nodes in (0, counts.min_nodes)
    one_a_node = counts.nodes_set or settings.has("extra_set")
    if one_a_node and fixed and not counts.tasks_set and not settings.has("ntasks_per_node"):
        return _one_a_node(counts, settings)
    if not (counts.nodes_set and counts.tasks_set):
        return counts
    if counts.tasks < counts.min_nodes:
        return replace(counts, min_nodes=counts.tasks, max_nodes=counts.tasks)
    return replace(counts, max_nodes=min(counts.tasks, counts.max_nodes))


def _one_a_node(counts: _Counts, settings: Settings) -> _Counts:
    """A task for each node, or for each of the sockets, cores and threads that were asked for."""
    tasks, said = max(counts.min_nodes, 1), False
    for name in ("sockets_per_node", "cores_per_socket", "threads_per_core"):
        size = settings.number(name)
        if size is not None:
            tasks, said = tasks * size, True
    return replace(counts, tasks=tasks, tasks_set=said)


def _min_nodes(counts: _Counts, *, per_node: int | None) -> int | None:
    if counts.nodes_set:
        return counts.min_nodes
    return -(-counts.tasks // per_node) if counts.tasks_set and per_node else None


def _min_cpus(counts: _Counts, settings: Settings) -> int:
    per_node, per_task = settings.number("ntasks_per_node"), settings.number("cpus_per_task")
    tasks = counts.tasks
    if per_node and not counts.tasks_set and counts.max_nodes in (0, counts.min_nodes):
        tasks = counts.min_nodes * per_node
    if settings.has("overcommit"):
        return max(counts.min_nodes, 1)
    if per_task is not None:
        return tasks * per_task
    return 0 if counts.nodes_set and counts.min_nodes == 0 else tasks


def _min_cpus_per_node(settings: Settings) -> int | None:
    asked = settings.number("mincpus")
    per_task = settings.number("cpus_per_task")
    return per_task if per_task is not None and per_task > (asked or 0) else asked


def _short(number: int | None) -> int | None:
    """What arrives of a number that is sent in 16 bits, where the two largest mean "not said"."""
    if number is None:
        return None
    sent = number % 2**16
    return None if sent >= _NOT_SAID else sent
