"""One unit of each main state, with two nodes, as the observer builds them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import msgspec

from api.views import (
    Condition,
    JobSet,
    JobSetSpec,
    JobTemplate,
    JobTemplateSpec,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodStatus,
    ReplicatedJob,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from k8s_bridge.core import naming
from k8s_bridge.slurm.facts import identity
from k8s_bridge.slurm.layout.types import Group, Layout, Shape
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import Partition, Presence, Seen, State, Unit

NOW = 1_800_000_000.0
_SUBMITTED = int(NOW) - 100
_JOB = Job(
    job_id=7,
    partition="batch",
    states=frozenset({"PENDING"}),
    held=True,
    reason="JobHeldUser",
    submit_time=_SUBMITTED,
    requeue=True,
)
_FEATURE = naming.node_feature(7)
_NAMES = ("slurm-job-7-g0-0-0-abcde", "slurm-job-7-g0-0-1-fghij")
_LAYOUT = Layout(groups=(Group(count=2, tasks=1, shape=Shape(cpus=1, memory=100)),))
_PARTITION = Partition(name="batch", queue="team-a", priority_class="normal")
_REPLICATED = ReplicatedJob(name="g0", template=JobTemplate(spec=JobTemplateSpec(parallelism=2)))


def units() -> Mapping[State, Unit]:
    """By the state that `decide` finds."""
    makers: dict[State, Callable[[], Unit]] = {
        State.HELD: partial(_waiting, may_create=True),
        State.TURN: partial(_waiting, may_create=False),
        State.QUEUED: _queued,
        State.ADMITTED: partial(_with_nodes, State.ADMITTED, _NAMES[:1]),
        State.READY: partial(_with_nodes, State.READY, _NAMES),
        State.RELEASED: partial(_released, State.RELEASED, "IDLE", "PENDING"),
        State.RUNNING: partial(_released, State.RUNNING, "ALLOCATED", "RUNNING"),
        State.EVICTED: _evicted,
        State.DRAINING: partial(_released, State.DRAINING, "IDLE", "COMPLETED"),
        State.DONE: lambda: Unit(job_id=7, presence=Presence.GONE),
    }
    return {state: make() for state, make in makers.items()}


def _waiting(*, may_create: bool) -> Unit:
    state = State.HELD if may_create else State.TURN
    return Unit(
        job_id=7,
        job=_JOB,
        partition=_PARTITION,
        layout=_LAYOUT,
        shape="s",
        may_create=may_create,
        seen=_seen(state),
    )


def _queued() -> Unit:
    text = say("Queued", "couldn't assign flavors: insufficient unused quota for cpu, 2 more needed")
    return replace(
        _waiting(may_create=True),
        job=msgspec.structs.replace(_JOB, reason="JobHeldAdmin", admin_comment=text),
        jobset=_jobset({}, suspend=True),
        workload=_workload(Condition(type="QuotaReserved", status="False", reason="Pending", message=text)),
        seen=_seen(State.QUEUED),
    )


def _with_nodes(state: State, nodes: tuple[str, ...]) -> Unit:
    return replace(
        _queued(),
        jobset=_jobset({}, suspend=False),
        workload=_workload(*_admitted()),
        pods=tuple(_pod(name) for name in _NAMES),
        nodes=tuple(_node(name, "IDLE") for name in nodes),
        seen=_seen(state),
    )


def _released(state: State, node: str, job: str) -> Unit:
    annotations = {naming.RELEASED_ON: "w", naming.PINNED_NODES: ",".join(_NAMES)}
    return replace(
        _with_nodes(state, _NAMES),
        job=msgspec.structs.replace(
            _JOB,
            states=frozenset({job}),
            held=False,
            reason="None",
            features=_FEATURE,
            nodes=",".join(_NAMES) if job == "RUNNING" else "",
            admin_comment=say("Released", "on 2 nodes"),
        ),
        jobset=_jobset(annotations, suspend=False),
        nodes=tuple(_node(name, node) for name in _NAMES),
    )


def _evicted() -> Unit:
    evicted = Condition(type="Evicted", status="True", reason="Preempted", message="by a higher priority")
    running = _released(State.RUNNING, "ALLOCATED", "RUNNING")
    return replace(running, workload=_workload(*_admitted(), evicted), seen=_seen(State.EVICTED))


def _seen(state: State) -> Seen:
    return Seen(state=state, since=NOW - 30.0, text_at=NOW - 10.0)


def _jobset(annotations: dict[str, str], *, suspend: bool) -> JobSet:
    anchor = {naming.IDENTITY: identity(_JOB), naming.SHAPE: "s"}
    meta = ObjectMeta(name=naming.jobset_name(7), namespace="hpc", uid="j", annotations=anchor | annotations)
    return JobSet(metadata=meta, spec=JobSetSpec(suspend=suspend, replicated_jobs=(_REPLICATED,)))


def _workload(*conditions: Condition) -> Workload:
    meta = ObjectMeta(name="w", namespace="hpc", uid="w", owner_references=(OwnerReference(uid="j"),))
    return Workload(
        metadata=meta, spec=WorkloadSpec(queue_name="team-a"), status=WorkloadStatus(conditions=conditions)
    )


def _admitted() -> tuple[Condition, ...]:
    when = datetime.fromtimestamp(NOW - 30.0, UTC)
    return tuple(
        Condition(type=kind, status="True", reason=kind, last_transition_time=when)
        for kind in ("QuotaReserved", "Admitted")
    )


def _pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="hpc"), status=PodStatus(phase="Running"))


def _node(name: str, state: str) -> Node:
    return Node(name=name, states=frozenset({state, "DYNAMIC_NORM"}), features=(_FEATURE,), cpus=1)
