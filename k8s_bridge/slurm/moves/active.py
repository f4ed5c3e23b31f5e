"""Moves of jobs that have nodes: follow them, or requeue them when their capacity is taken or lost."""

from __future__ import annotations

from k8s_bridge.slurm.effects import Cancel, NodesDown
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import (
    ABSENCE_GRACE,
    LOOK_AGAIN,
    Verdict,
    eviction,
    job_of,
    lasted,
    policy_of,
    record_release,
    send_back,
    time_left,
    verdict,
)
from k8s_bridge.slurm.moves.deadline import extend_deadline
from k8s_bridge.slurm.moves.grace import let_end, time_to_end
from k8s_bridge.slurm.pods import losses
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import State


def help_completing(facts: Facts, now: float) -> Verdict:
    """A job cannot finish completing on a node that is gone: tell Slurm so."""
    effects = [NodesDown(nodes=facts.dead, reason="k8s-bridge: pod is gone")] if facts.surely_dead else []
    return verdict(*effects, after=LOOK_AGAIN)


def evict(facts: Facts, now: float) -> Verdict:
    """Kueue wants the capacity back: down with the nodes, which requeues the job, then hold it."""
    left = time_to_end(facts, facts.own_nodes, state=State.EVICTED, now=now)
    if left:
        return let_end(facts, facts.own_nodes, why=eviction(facts), left=left)
    return send_back(facts, nodes=facts.own_nodes, why=eviction(facts))


def lose(facts: Facts, now: float) -> Verdict:
    """Pods are gone under a running job: requeue it, never cancel it because a pod ended."""
    if facts.unit.jobset is None and policy_of(facts).cancel_orphans:
        return _orphaned(facts, now)
    known = facts.unit.jobset is None or facts.surely_dead or bool(facts.jobset_failed)
    if not known and not lasted(facts, State.LOST, ABSENCE_GRACE, now):
        return verdict(after=ABSENCE_GRACE)
    names = facts.dead or facts.own_nodes
    why = f"lost: {facts.jobset_failed or f'pods are gone: {losses(facts.unit.pods, names)}'}"
    left = 0.0 if facts.jobset_failed else time_to_end(facts, names, state=State.LOST, now=now)
    return let_end(facts, names, why=why, left=left) if left else send_back(facts, nodes=names, why=why)


def _orphaned(facts: Facts, now: float) -> Verdict:
    """Whoever deletes a JobSet may be making it anew: that is waited for before the job is given up."""
    grace = policy_of(facts).orphan_grace
    if not lasted(facts, State.LOST, grace, now):
        return verdict(after=time_left(facts, State.LOST, grace, now))
    return verdict(Cancel(job_id=facts.unit.job_id, text=say("Orphaned", "its JobSet was deleted")))


def follow(facts: Facts, now: float) -> Verdict:
    """Running well. Record the nodes if they changed (Slurm requeued and started it again by itself)."""
    return verdict(*record_release(facts), *extend_deadline(facts, start=float(job_of(facts).start_time)))
