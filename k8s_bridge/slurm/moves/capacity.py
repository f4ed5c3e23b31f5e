"""Moves of jobs whose capacity was asked for: waiting, arriving, ready."""

from __future__ import annotations

from k8s_bridge.core.admission import Capacity
from k8s_bridge.slurm import parking
from k8s_bridge.slurm.effects import Effect, NodesDrain, NodesResume, PinAndRelease
from k8s_bridge.slurm.facts import Facts, pin
from k8s_bridge.slurm.moves.common import (
    Verdict,
    delete_ghosts,
    delete_jobset,
    job_of,
    lasted,
    policy_of,
    record,
    time_left,
    verdict,
)
from k8s_bridge.slurm.moves.deadline import extend_deadline
from k8s_bridge.slurm.pods import provisioning_trouble
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import State

TRESPASS_GRACE = 2.0
"""Seconds that a node must be seen busy with another job before it counts as a trespass."""
TRESPASS = "k8s-bridge: another job runs here"
"""The reason of such a node's drain."""
STUCK = 120.0
"""Seconds that admitted capacity may wait for a pod that was told to end."""


def unpark_when_due(facts: Facts, now: float) -> Verdict:
    """Quota was given back for a while; ask again when the time is up."""
    return parking.unpark_when_due(facts, now, delete_ghosts(facts))


def await_quota(facts: Facts, now: float) -> Verdict:
    """Kueue's own words are the reason."""
    admission, trouble = facts.admission, policy_of(facts).trouble
    reason, text = trouble if trouble[0] else (admission.reason or "NoWorkload", admission.message)
    if not text:
        text = (
            "Kueue has not made a Workload yet" if admission.capacity is Capacity.NONE else "waits for quota"
        )
    return verdict(*delete_ghosts(facts), reason=reason, text=text, after=30.0)


def report_trespass(facts: Facts, now: float) -> Verdict:
    """Another job runs on this job's capacity: drain, so that nothing more starts there, and say so.

    Jobs and nodes are read at slightly different times, so it has to last a moment to be believed.
    """
    names = tuple(
        n.name
        for n in facts.unit.nodes
        if n.name in facts.trespassed and not n.states & {"DRAIN", "DRAINING"}
    )
    if not lasted(facts, State.TRESPASS, TRESPASS_GRACE, now):
        return verdict(after=TRESPASS_GRACE)
    effects = [NodesDrain(nodes=names, reason=TRESPASS)] if names else []
    text = f"another job runs on this job's nodes: {', '.join(facts.trespassed)}"
    return verdict(*effects, reason="Trespass", text=text, after=5.0)


def release(facts: Facts, now: float) -> Verdict:
    """Everything is there: old records away, pin, read back, release, record."""
    job = job_of(facts)
    go = PinAndRelease(
        job_id=job.job_id,
        constraints=pin(facts.user_constraints, facts.feature),
        nodes=facts.ready,
        text=say("Released", f"on {', '.join(facts.ready)}"),
    )
    deadline = extend_deadline(facts, start=now)
    return verdict(*delete_ghosts(facts), *deadline, go, *record(facts, facts.ready))


def _spared(facts: Facts) -> tuple[Effect, ...]:
    """Nodes that were drained against a trespass are of use again: it is over, and all others are there."""
    spared = tuple(
        n.name
        for n in facts.unit.nodes
        if n.name in facts.live and "DRAIN" in n.states and not n.busy and n.reason == TRESPASS
    )
    complete = len(spared) + len(facts.ready) == facts.wanted == len(facts.live)
    return (NodesResume(nodes=spared),) if spared and complete else ()


def await_nodes(facts: Facts, now: float) -> Verdict:
    """Pods start and register; what keeps them from it is said, and not waited for without end."""
    policy = policy_of(facts)
    if facts.terminating and lasted(facts, State.ADMITTED, STUCK, now):
        text = f"pod {facts.terminating[0]} does not end (is its node gone?); capacity is asked for anew"
        return verdict(*delete_ghosts(facts), *delete_jobset(facts), reason="PodStuck", text=text, after=5.0)
    reason, text = provisioning_trouble(facts.unit, facts.unit.nodes)
    timed_out = lasted(facts, State.ADMITTED, policy.provision_timeout, now)
    if timed_out or facts.barren:
        reason = reason or ("ProvisionTimeout" if timed_out else "PodCompleted")
        text = text or facts.barren or f"nodes did not register within {policy.provision_timeout:.0f} s"
        return verdict(*delete_ghosts(facts), *parking.park(facts, now, reason), reason=reason, text=text)
    if not reason:
        reason, text = "Provisioning", f"{len(facts.ready)} of {facts.wanted} nodes are registered"
    limit = min(STUCK, policy.provision_timeout) if facts.terminating else policy.provision_timeout
    left = time_left(facts, State.ADMITTED, limit, now)
    return verdict(*delete_ghosts(facts), *_spared(facts), reason=reason, text=text, after=min(left, 30.0))
