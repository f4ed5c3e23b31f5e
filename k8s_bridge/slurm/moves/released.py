"""Moves of jobs that were released and wait for Slurm, or that somebody else holds."""

from __future__ import annotations

from k8s_bridge.slurm import parking
from k8s_bridge.slurm.effects import Rehold
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import (
    HOLD_GRACE,
    LOOK_AGAIN,
    Verdict,
    delete_ghosts,
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
    job = job_of(facts)
    text = say("Requeued", "capacity is gone; waiting for new capacity")
    hold = Rehold(job_id=job.job_id, constraints=facts.user_constraints, text=text)
    return verdict(hold, *delete_ghosts(facts), *forget_release(facts), reason="Requeued", after=LOOK_AGAIN)


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
        back = take_back(facts, now)
        return verdict(
            *back.effects, *parking.park(facts, now, "StartTimeout"), reason="StartTimeout", text=text
        )
    return verdict(*record_release(facts), after=time_left(facts, State.RELEASED, policy.start_timeout, now))
