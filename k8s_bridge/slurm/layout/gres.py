"""GRES of one node: what is asked per node, per task and for the whole job, made one."""

from __future__ import annotations

from collections.abc import Mapping

from k8s_bridge.slurm.layout.dealing import node_job_gres
from k8s_bridge.slurm.layout.refusals import Unmet
from k8s_bridge.slurm.layout.request import Request
from k8s_bridge.slurm.layout.tres import Gres

_TWO_WAYS = 2
_Counts = dict[tuple[str, str], int]


def check_agreement(request: Request, *, nodes: int) -> None:
    """Unmet when one GRES is asked for in two ways that do not say the same."""
    if sum(map(bool, _sources(request))) < _TWO_WAYS:
        return
    per_node, per_task, per_job = map(_counts, _sources(request))
    on_nodes = request.room * nodes or request.tasks
    for option, (first, scale_first), (second, scale_second) in (
        ("--gpus-per-task", (per_node, nodes), (per_task, on_nodes)),
        ("--gpus", (per_node, nodes), (per_job, 1)),
        ("--gpus", (per_task, request.tasks), (per_job, 1)),
    ):
        for name in _names(first) & _names(second):
            if _scaled(first, name, scale_first) != _scaled(second, name, scale_second):
                raise Unmet(
                    option,
                    f"GRES {name} is asked for in two ways that do not agree; give one of them.",
                )


def node_gres(request: Request, *, tasks: int, nodes: int, index: int) -> tuple[Gres, ...]:
    """GRES of node `index`, which runs `tasks` tasks; sorted."""
    if not any(_sources(request)):
        return ()
    counts = _counts(request.gres_per_node)
    for name, kind, count in request.gres_per_task:
        counts[name, kind] = max(counts.get((name, kind), 0), count * max(tasks, request.room))
    for name, kind, count in request.gres_per_job:
        if (name, kind) not in counts:
            counts[name, kind] = node_job_gres(request, count=count, nodes=nodes, index=index)
    return tuple(sorted((name, kind, count) for (name, kind), count in counts.items() if count))


def _sources(request: Request) -> tuple[tuple[Gres, ...], ...]:
    return request.gres_per_node, request.gres_per_task, request.gres_per_job


def _counts(gres: tuple[Gres, ...]) -> _Counts:
    return {(name, kind): count for name, kind, count in gres}


def _names(counts: Mapping[tuple[str, str], int]) -> set[str]:
    return {name for name, _ in counts}


def _scaled(counts: Mapping[tuple[str, str], int], name: str, scale: int) -> _Counts:
    return {key: count * scale for key, count in counts.items() if key[0] == name}
