"""Moves of jobs that were released and wait for Slurm, or that somebody else holds."""

from __future__ import annotations

from k8s_bridge.slurm import parking
from k8s_bridge.slurm.effects import Begin, Effect, Recount, Rehold
from k8s_bridge.slurm.eligibility import is_requeue_delay
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import (
    HOLD_GRACE,
    LOOK_AGAIN,
    WITHHELD_GRACE,
    Verdict,
    delete_ghosts,
    delete_jobset,
    eviction,
    forget_release,
    job_of,
    lasted,
    policy_of,
    record_release,
    time_left,
    verdict,
)
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import State


def take_back(facts: Facts, now: float) -> Verdict:
    """Pending and released without (all of) its capacity: hold it again and clear the pin."""
    hold = _rehold(facts, now, _why_taken(facts))
    silent = facts.emptied and not facts.withdrawn  # what is withdrawn loses its pods anyway
    over = delete_jobset(facts) if silent else forget_release(facts, requeues=facts.requeues + 1)
    return verdict(hold, *delete_ghosts(facts), *over, reason="Requeued", after=LOOK_AGAIN)


def _why_taken(facts: Facts) -> str:
    """What was said while the job still had nodes knows more than what is left to see."""
    said = job_of(facts).admin_comment
    if said.startswith(say("Requeued", "")):
        return said
    taken = facts.unit.jobset is not None and facts.withdrawn
    return say("Requeued", eviction(facts) if taken else "its nodes are gone; waiting for new capacity")


def await_slurm(facts: Facts, now: float) -> Verdict:
    """Its capacity is not what Slurm waits for: after a grace the quota goes back, and it is tried again."""
    job = job_of(facts)
    text = f"Slurm does not start it: {job.reason}"
    if not lasted(facts, State.WITHHELD, WITHHELD_GRACE, now):
        return verdict(reason="Withheld", text=text, after=WITHHELD_GRACE)
    return _try_later(facts, now, reason="Withheld", why=job.reason, text=text)


def _try_later(facts: Facts, now: float, *, reason: str, why: str, text: str) -> Verdict:
    """Hold it again and give the quota back for a while; it did not run, so it counts as no requeue."""
    effects = (
        _rehold(facts, now, say(reason, text)),
        *_recount(facts),
        *delete_ghosts(facts),
        *forget_release(facts, requeues=facts.requeues),
        *parking.park(facts, now, why),
    )
    return verdict(*effects, reason=reason, text=text)


def _rehold(facts: Facts, now: float, text: str) -> Effect:
    job = job_of(facts)
    begin = Begin.AT_ONCE if is_requeue_delay(job, now) else Begin.AS_IT_IS
    return Rehold(job_id=job.job_id, constraints=facts.user_constraints, begin=begin, text=text)


def _recount(facts: Facts) -> tuple[Effect, ...]:
    """Slurm wants more nodes than it counted: the node count was changed while no node could run the job."""
    job = job_of(facts)
    if job.reason != "PartitionNodeLimit" or (job.node_count or 0) <= facts.wanted:
        return ()
    return (Recount(job_id=job.job_id, nodes=job.node_count or 1),)


def respect_hold(facts: Facts, now: float) -> Verdict:
    """Somebody else holds it: never release it; after a grace the quota goes back."""
    text = f"held by its owner or an admin ({job_of(facts).reason}); release it to go on"
    if parking.is_parked(facts):  # marked; the second half of parking may still be due
        give_back = parking.deactivate(facts)
    elif lasted(facts, State.HELD_BY_OTHER, HOLD_GRACE, now):
        give_back = parking.park(facts, now, "HeldByOther")
    else:
        return verdict(reason="HeldByOther", text=text, after=HOLD_GRACE)
    return verdict(*delete_ghosts(facts), *give_back, reason="HeldByOther", text=text, after=HOLD_GRACE)


def await_start(facts: Facts, now: float) -> Verdict:
    """Slurm has it; it starts within start_timeout or the quota goes back."""
    policy = policy_of(facts)
    if lasted(facts, State.RELEASED, policy.start_timeout, now):
        text = f"Slurm did not start it for {policy.start_timeout:.0f} s: {job_of(facts).reason}"
        return _try_later(facts, now, reason="StartTimeout", why="StartTimeout", text=text)
    return verdict(*record_release(facts), after=time_left(facts, State.RELEASED, policy.start_timeout, now))
