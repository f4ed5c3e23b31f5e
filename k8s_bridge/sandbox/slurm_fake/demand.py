"""What a job needs from nodes, read from its record, and which nodes can give it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k8s_bridge.sandbox.slurm_fake.gres import Gres, asked
from k8s_bridge.sandbox.slurm_fake.nodes import Node, Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The job's request.

    `max_nodes` 0 is no maximum. Without a word about memory a job gets a node's whole (no DefMemPerNode).
    """

    min_nodes: int = 1
    max_nodes: int = 0
    tasks: int = 1
    cpus_per_task: int = 1
    tasks_per_node: int = 0
    memory_per_node: int = 0
    memory_per_cpu: int = 0
    per_node: tuple[Gres, ...] = ()
    per_task: tuple[Gres, ...] = ()
    per_job: tuple[Gres, ...] = ()
    exclusive: bool = False

    @property
    def cpus(self) -> int:
        """CPUs of all tasks, at least one a node."""
        return max(self.tasks * self.cpus_per_task, self.min_nodes)


def read(record: Mapping[str, Any]) -> Demand:
    """The demand that a record's fields state; raises SlurmError for GRES that cannot be read."""
    nodes = number(record, "node_count") or 1
    tasks_per_node = number(record, "tasks_per_node") or 0
    return Demand(
        min_nodes=nodes,
        max_nodes=number(record, "max_nodes") or 0,
        tasks=number(record, "tasks") or nodes * max(tasks_per_node, 1),
        cpus_per_task=number(record, "cpus_per_task") or 1,
        tasks_per_node=tasks_per_node,
        memory_per_node=number(record, "memory_per_node") or 0,
        memory_per_cpu=number(record, "memory_per_cpu") or 0,
        per_node=asked(record.get("tres_per_node", "")),
        per_task=asked(record.get("tres_per_task", "")),
        per_job=asked(record.get("tres_per_job", "")),
        exclusive=bool({"none", "exclusive"} & set(record.get("shared", ()))),
    )


def number(record: Mapping[str, Any], key: str) -> int | None:
    """A plain or wrapped number; None when it is absent or not set."""
    value = record.get(key)
    if isinstance(value, Mapping):
        return int(value["number"]) if value.get("set") else None
    return None if value is None else int(value)


def place(demand: Demand, nodes: Sequence[Node]) -> tuple[Share, ...] | None:
    """The fewest nodes, in table order, that together hold the job; None when these nodes cannot."""
    fits = [(node, room) for node in nodes if (room := tasks_that_fit(demand, node)) > 0]
    most = demand.max_nodes or max(demand.min_nodes, len(fits))
    for count in range(demand.min_nodes, min(most, len(fits)) + 1):
        roomiest = sorted(fits, key=lambda fit: -fit[1])[:count]
        chosen = [fit for fit in fits if fit in roomiest]
        if sum(room for _, room in chosen) >= demand.tasks and _has_job_gres(demand, chosen):
            return tuple(_shares(demand, chosen))
    return None


def tasks_that_fit(demand: Demand, node: Node) -> int:
    """How many of the job's tasks the free part of a node can take; 0 when it cannot be used."""
    if (demand.exclusive and node.shares) or any(_free(node, want) < want.count for want in demand.per_node):
        return 0
    if _memory(demand, node=node, cpus=demand.cpus_per_task) > node.free_memory:
        return 0
    limits = [node.free_cpus // demand.cpus_per_task, demand.tasks]
    limits += [_free(node, want) // want.count for want in demand.per_task if want.count]
    if demand.memory_per_cpu:
        limits.append(node.free_memory // (demand.memory_per_cpu * demand.cpus_per_task))
    if demand.tasks_per_node:
        limits.append(demand.tasks_per_node)
    return min(limits)


def _memory(demand: Demand, *, node: Node, cpus: int) -> int:
    return demand.memory_per_node or demand.memory_per_cpu * cpus or node.memory


def _has_job_gres(demand: Demand, chosen: Iterable[tuple[Node, int]]) -> bool:
    nodes = [node for node, _ in chosen]
    return all(sum(_free(node, want) for node in nodes) >= want.count for want in demand.per_job)


def _shares(demand: Demand, chosen: Sequence[tuple[Node, int]]) -> Iterable[Share]:
    left = demand.tasks
    job_gres = {want: want.count for want in demand.per_job}
    for position, (node, room) in enumerate(chosen):
        others = len(chosen) - position - 1
        tasks = max(min(room, left - others), 1)
        left -= tasks
        yield _share(demand, node=node, tasks=tasks, job_gres=job_gres)


def _share(demand: Demand, *, node: Node, tasks: int, job_gres: dict[Gres, int]) -> Share:
    cpus = node.cpus if demand.exclusive else tasks * demand.cpus_per_task
    memory = (
        node.memory if demand.memory_per_node == 0 else demand.memory_per_node or demand.memory_per_cpu * cpus
    )
    wanted = [(want, want.count) for want in demand.per_node]
    wanted += [(want, want.count * tasks) for want in demand.per_task]
    for want, rest in job_gres.items():
        taken = min(rest, _free(node, want))
        job_gres[want] = rest - taken
        wanted.append((want, taken))
    return Share(node=node.name, cpus=cpus, memory=memory, tasks=tasks, gres=tuple(_take(node, wanted)))


def _take(node: Node, wanted: Iterable[tuple[Gres, int]]) -> Iterable[tuple[int, int]]:
    for want, count in wanted:
        rest = count
        for position, have in enumerate(node.gres):
            if rest and have.serves(want):
                taken = min(rest, node.free_gres(position))
                rest -= taken
                yield position, taken


def _free(node: Node, want: Gres) -> int:
    return sum(node.free_gres(place) for place, have in enumerate(node.gres) if have.serves(want))
