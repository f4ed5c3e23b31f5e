"""What `top` and `explain` show of the units of one bridge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from k8s_bridge.core import naming
from k8s_bridge.runtime.units import UnitDetail, UnitRow
from k8s_bridge.slurm.controller import Said, SlurmController
from k8s_bridge.slurm.layout.types import Layout
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.named import meant
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.script import Component, Fate, effects, given_of
from k8s_bridge.slurm.unit import Key, State, Unit

_NEXT: dict[State, str] = {
    State.HELD: "a JobSet is created for it",
    State.TURN: "a JobSet is created when one before it in the queue gets its quota",
    State.INELIGIBLE: "capacity is asked for when nothing but capacity keeps Slurm from starting it",
    State.REFUSED: "change the job (scontrol update) or cancel it",
    State.QUEUED: "Kueue admits its Workload",
    State.PARKED: "capacity is asked for again when the pause is over",
    State.ADMITTED: "its pods start and register as Slurm nodes",
    State.READY: "it is pinned to its nodes and released",
    State.RELEASED: "Slurm starts it",
    State.WITHHELD: "its quota is given back, and it is tried again later",
    State.RUNNING: "it ends; then everything is given back",
    State.COMPLETING: "Slurm cleans up after it",
    State.EVICTED: "it is held again and waits for new capacity",
    State.LOST: "it is held again and waits for new capacity",
    State.HELD_BY_OTHER: "whoever holds it releases it (scontrol release)",
    State.DRAINING: "its nodes and its JobSet are deleted",
    State.GUARDED: "a person looks at why Slurm lost its jobs",
    State.DENIED: "its JobSet is created at the next attempt, once what refuses it lets it pass",
    State.TRESPASS: "the other job on its nodes ends",
    State.UNKNOWN: "Slurm says whether it knows the job",
    State.REPLACED: "what was made for the older job of its id is deleted; then it is looked at anew",
    State.RETAINED: "its JobSet is deleted when failedJobSetRetention is over",
    State.RESIZED: "its JobSet is deleted, and another one is created",
    State.FAILED: "its JobSet is deleted, and another one is created after a pause",
    State.FOREIGN: "what was made for it is deleted; the job itself is left to Slurm",
    State.DONE: "nothing: nothing of it is left",
}


class Details:
    """Rows and explanations, made at the moment of the request."""

    def __init__(self, controller: SlurmController, observer: Observer) -> None:
        self._controller = controller
        self._observer = observer

    def __call__(self, name: str) -> Iterator[UnitDetail]:
        """The units called `name` (as squeue names jobs, or `7-s0` for a slot of an array), or all for ""."""
        said = dict(self._controller.said)
        called = dict(meant(name, self._observer)) or {key: {} for key in said if name in {"", str(key)}}
        for key, facts in called.items():
            if key in said:
                yield self._detail(key, said[key], facts)

    def _detail(self, key: Key, said: Said, facts: Mapping[str, str]) -> UnitDetail:
        unit = self._observer.unit(key)
        return UnitDetail(
            row=self._row(unit, said),
            options=dict(_options(unit)),
            facts={**facts, **dict(_facts(unit))},
            next_step=_NEXT.get(said.state, ""),
        )

    def _row(self, unit: Unit, said: Said) -> UnitRow:
        job, workload, partition = unit.job, unit.workload, unit.partition
        return UnitRow(
            kind="Slurm job" if unit.slot is None else "slot",
            name=str(unit.key),
            state=said.state.value,
            queue=partition.queue if partition else "",
            partition=job.partition if job else "",
            user=job.user_name if job else "",
            priority=workload.spec.priority if workload else None,
            reason=said.reason,
            text=said.text,
            since=said.since,
            nodes=tuple(node.name for node in unit.nodes),
            workloadmixing=self._controller.name,
        )


def _options(unit: Unit) -> Iterator[tuple[str, str]]:
    if unit.job is None or unit.layout is None:
        return
    for effect in effects(Component(job=unit.job, given=given_of(unit.job)), unit.layout):
        yield effect.option, f"refused: {effect.text}" if effect.fate is Fate.REFUSED else effect.text


def _facts(unit: Unit) -> Iterator[tuple[str, str]]:
    job = unit.job
    if job is not None:
        yield "Slurm state", " ".join(sorted(job.states)) + (f" ({job.reason})" if job.reason else "")
        yield "held", "yes" if job.held else "no"
        if job.features:
            yield "constraints", job.features
    yield from _conditions(job)
    if isinstance(unit.layout, Layout):
        yield "asks for", "; ".join(_group(unit.layout, index) for index in range(len(unit.layout.groups)))
    if unit.jobset is not None:
        yield "JobSet", f"{unit.jobset.key}{' (suspended)' if unit.jobset.spec.suspend else ''}"
        yield "requeues", unit.jobset.metadata.annotations.get(naming.REQUEUES, "0")
    if unit.workload is not None:
        yield "Workload", unit.workload.key
        for condition in unit.workload.status.conditions:
            yield f"  {condition.type}", f"{condition.status} {condition.reason} {condition.message}".rstrip()
    for pod in unit.pods:
        where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
        yield f"pod {pod.metadata.name}", f"{pod.status.phase}{where}"
    for node in unit.nodes:
        yield f"Slurm node {node.name}", " ".join(sorted(node.states))


def _conditions(job: Job | None) -> Iterator[tuple[str, str]]:
    """What the job says of when it may start."""
    if job is None:
        return
    yield from (
        (name, value)
        for name, value in (
            ("comment", job.comment),
            ("dependency", job.dependency),
            ("licenses", job.licenses),
            ("reservation", job.reservation),
            ("not before", _moment(job.eligible_time) if job.pending and job.eligible_time else ""),
            ("deadline", _moment(job.deadline) if job.deadline else ""),
        )
        if value
    )


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _group(layout: Layout, index: int) -> str:
    group = layout.groups[index]
    shape = group.shape
    gres = "".join(f", {count} {name}{':' + kind if kind else ''}" for name, kind, count in shape.gres)
    memory = f", {shape.memory} MiB" if shape.memory else ""
    return f"{group.count} node(s) of {shape.cpus} CPU(s){memory}{gres}"
