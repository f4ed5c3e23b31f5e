"""How the GRES that are asked for in different ways have to agree, and what each way says of the others.

sbatch and slurmctld apply the same rules; the text of a failure names the two ways.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from k8s_bridge.slurm.script.demand import Demand
from k8s_bridge.slurm.script.errors import ScriptError


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """All that is asked of one GRES of one type; 0 is nothing."""

    name: str
    kind: str
    job: int
    node: int
    socket: int
    task: int
    cpus: int
    total: int = 0

    @property
    def is_wanted(self) -> bool:
        """Whether any of it is asked for; CPUs or memory for each one alone ask for none."""
        return bool(self.job or self.node or self.socket or self.task)


def settled(demand: Demand, ask: Ask) -> Demand:
    """The demand, completed by what follows from `ask`. ScriptError when they do not fit together."""
    for rule in (_check_order, _nodes, _sockets, _tasks, _tasks_on_node, _tasks_on_socket, _cpus, _spread):
        demand = rule(demand, ask)
    return demand


def _check_order(demand: Demand, ask: Ask) -> Demand:
    _need(not ask.job or ask.job >= max(ask.node, ask.task, ask.socket), ask, "for the job and for a part")
    _need(not ask.node or ask.node >= max(ask.task, ask.socket), ask, "for a node and for a part of it")
    _need(not ask.socket or demand.sockets_per_node is not None, ask, "a socket without --sockets-per-node")
    return demand


def _nodes(demand: Demand, ask: Ask) -> Demand:
    if not (ask.job and ask.node):
        return demand
    nodes = _quotient(ask.job, ask.node, ask, "for the job and for a node")
    low, high = demand.min_nodes, demand.max_nodes
    inside = (low is None or nodes >= low) and (high is None or nodes <= high)
    _need(inside, ask, "for the job and for a node, against --nodes")
    return replace(demand, min_nodes=nodes, max_nodes=nodes)


def _sockets(demand: Demand, ask: Ask) -> Demand:
    if ask.node and ask.socket:
        sockets = _quotient(ask.node, ask.socket, ask, "for a node and for a socket")
        _need(demand.sockets_per_node == sockets, ask, "for a node and for a socket")
    return demand


def _tasks(demand: Demand, ask: Ask) -> Demand:
    if not ask.task:
        return demand
    if ask.job:
        tasks = _quotient(ask.job, ask.task, ask, "for the job and for a task")
        _need(demand.tasks in (None, tasks), ask, "for the job and for a task, against --ntasks")
        return replace(demand, tasks=tasks)
    _need(demand.tasks is not None, ask, "for a task without --ntasks or --gpus")
    return demand


def _tasks_on_node(demand: Demand, ask: Ask) -> Demand:
    if not (ask.node and ask.task):
        return demand
    tasks = _quotient(ask.node, ask.task, ask, "for a node and for a task")
    _need((demand.tasks_per_node or tasks) == tasks, ask, "for a node and a task, and --ntasks-per-node")
    return replace(demand, tasks_per_node=tasks)


def _tasks_on_socket(demand: Demand, ask: Ask) -> Demand:
    if not (ask.socket and ask.task):
        return demand
    tasks = _quotient(ask.socket, ask.task, ask, "for a socket and for a task")
    _need((demand.tasks_per_socket or tasks) == tasks, ask, "for a socket and a task")
    return replace(demand, tasks_per_socket=tasks)


def _cpus(demand: Demand, ask: Ask) -> Demand:
    if not ask.cpus:
        return demand
    cpus = ask.cpus * ask.task
    _need(demand.cpus_per_task in (None, cpus), ask, "with --cpus-per-gpu and --cpus-per-task")
    return replace(demand, cpus_per_task=cpus) if cpus else demand


def _spread(demand: Demand, ask: Ask) -> Demand:
    job = ask.job or ask.task * (demand.tasks or 0)
    if not job:
        return demand
    _need(demand.min_nodes is None or job >= demand.min_nodes, ask, "fewer than nodes")
    high = demand.max_nodes
    return demand if high is None else replace(demand, max_nodes=min(high, job))


def check_types(asks: Iterable[Ask]) -> None:
    """A GRES is asked for by type or without, not both."""
    typed = {ask.name for ask in asks if ask.kind}
    for ask in asks:
        _need(not (ask.name in typed and not ask.kind and ask.is_wanted), ask, "with and without a type")


def _quotient(total: int, part: int, ask: Ask, how: str) -> int:
    whole, rest = divmod(total, part)
    _need(rest == 0, ask, how)
    return whole


def _need(is_met: bool, ask: Ask, how: str) -> None:  # noqa: FBT001  # the condition is the point
    if not is_met:
        raise ScriptError(f"{ask.name} is asked for {how}: the numbers do not agree")
