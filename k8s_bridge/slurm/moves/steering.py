"""Keeps the priority of a job's Workload, its comment and Slurm's own priority in step.

The owner's directive raises or lowers the Workload's priority, up to the cap; without one Kueue's priority
class rules. Once Slurm may start the job, squeue shows the Workload's priority; 0 is never written there,
since it would hold the job. Nobody's priority is touched where enablePrioritySync is off.
"""

from __future__ import annotations

from k8s_bridge.core import naming
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.slurm import priority
from k8s_bridge.slurm.effects import Acknowledge, Effect, SetPriority
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.model import LONGEST
from k8s_bridge.slurm.moves.common import annotate, job_of, policy_of
from k8s_bridge.slurm.unit import State

_STEERED = frozenset({State.QUEUED, State.ADMITTED, State.RELEASED, State.RUNNING})
_SHOWN = frozenset({State.RELEASED, State.RUNNING})


def steer(facts: Facts, state: State) -> tuple[Effect, ...]:
    """What is out of step, in the states in which it matters."""
    unit = facts.unit
    if state not in _STEERED or unit.job is None or unit.workload is None or unit.jobset is None:
        return ()
    wanted = unit.wanted_priority
    return (*_workload(facts, wanted), *_comment(facts, wanted), *_slurm(facts, state))


def _workload(facts: Facts, wanted: int | None) -> tuple[Effect, ...]:
    """The mark on the JobSet tells a priority of ours from one that an operator gave the Workload."""
    workload, mark = facts.unit.workload, facts.annotations.get(naming.PRIORITY)
    if workload is None or (wanted is None and mark is None):
        return ()
    value = policy_of(facts).class_priority if wanted is None else wanted
    effects: list[Effect] = []
    if workload.spec.priority != value:
        effects.append(Patch(ref=ObjectRef.to(workload), patch={"spec": {"priority": value}}))
    text = None if wanted is None else str(wanted)
    if mark != text:
        effects.append(annotate(facts, {naming.PRIORITY: text}))
    return tuple(effects)


def _comment(facts: Facts, wanted: int | None) -> tuple[Effect, ...]:
    """An acknowledgement that is not ours to give is taken out only where a directive is heeded at all."""
    job = job_of(facts)
    if not policy_of(facts).priority_sync:
        return ()
    comment = priority.acknowledged(job.comment, wanted)
    if len(comment.encode()) > LONGEST:
        return ()
    if comment == job.comment or priority.ACKNOWLEDGEMENT not in comment + job.comment:
        return ()
    return (Acknowledge(job_id=job.job_id, comment=comment),)


def _slurm(facts: Facts, state: State) -> tuple[Effect, ...]:
    job, workload = job_of(facts), facts.unit.workload
    if workload is None or state not in _SHOWN or not policy_of(facts).priority_sync:
        return ()
    value = workload.spec.priority
    if value <= 0 or not job.priority or job.priority == value:
        return ()
    return (SetPriority(job_id=job.job_id, priority=value),)
