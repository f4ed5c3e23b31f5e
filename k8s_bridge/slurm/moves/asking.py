"""Moves of jobs that we hold and for which capacity is to be asked."""

from __future__ import annotations

from api.v1alpha1.policy import RefusedJobPolicy
from k8s_bridge.slurm.effects import Cancel, CreateJobSet, Effect, TakeHold
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.moves.common import (
    LOOK_AGAIN,
    Verdict,
    delete_ghosts,
    delete_jobset,
    delete_stale_without_jobset,
    job_of,
    policy_of,
    verdict,
)
from k8s_bridge.slurm.moves.over import give_back
from k8s_bridge.slurm.seen import paused
from k8s_bridge.slurm.speech import say


def hold_again(facts: Facts, now: float) -> Verdict:
    """Nobody passes Kueue: a waiting job that was released from outside is held again."""
    text = say("Held", "held by k8s-bridge until Kueue admits its capacity")
    return verdict(TakeHold(job_id=facts.unit.job_id, text=text), after=LOOK_AGAIN)


def refuse(facts: Facts, now: float) -> Verdict:
    """Say which option and why, and ask for nothing; the job stays held or is cancelled, by policy."""
    layout = facts.unit.layout
    if not isinstance(layout, Refusal):
        raise TypeError("this move belongs to a refused layout")
    text = f"{layout.option}: {layout.text}"
    if policy_of(facts).refused is RefusedJobPolicy.FAIL:
        return verdict(
            Cancel(job_id=facts.unit.job_id, text=say("Refused", text)), reason="Refused", text=text
        )
    return verdict(*give_back(facts, now).effects, reason="Refused", text=text)


def await_eligibility(facts: Facts, now: float) -> Verdict:
    """No quota for a job that Slurm would not start."""
    found = facts.obstacle
    if found is None:
        raise LookupError("this move belongs to a job with an obstacle")
    after = None if found.until is None else max(LOOK_AGAIN, found.until - now)
    effects = give_back(facts, now).effects
    return verdict(*effects, reason=found.reason, text=found.text, after=after)


def await_turn(facts: Facts, now: float) -> Verdict:
    """Others of its queue are asked for first."""
    text = "enough is asked for in this queue already (maxInFlight), or jobs like it gave their quota back"
    return verdict(reason="WaitingTurn", text=text)


def report_denial(facts: Facts, now: float) -> Verdict:
    """Say why there is no JobSet, and try again now and then: whoever can cure it does not tell us."""
    denial = facts.unit.denied
    if denial is None:
        raise LookupError("this move belongs to a JobSet that was refused")
    effects = ask(facts, now).effects if now >= denial.until else ()
    return verdict(*effects, reason=denial.reason, text=denial.text, after=max(1.0, denial.until - now))


def ask(facts: Facts, now: float) -> Verdict:
    """Make the hold ours, then ask Kueue for the job's capacity."""
    unit, job = facts.unit, job_of(facts)
    if unit.seen and paused(unit.seen, now):
        return verdict(after=unit.seen.not_before - now)
    effects: list[Effect] = []
    if not (facts.ours_by_text and job.reason == "JobHeldAdmin"):
        nodes = unit.layout.nodes if isinstance(unit.layout, Layout) else 0
        text = say("Queued", f"asked Kueue for {nodes} node(s)")
        effects.append(TakeHold(job_id=job.job_id, text=text))
    effects.append(CreateJobSet(job_id=job.job_id, shape=unit.shape))
    return verdict(*delete_stale_without_jobset(facts), *effects)


def ask_anew(facts: Facts, now: float) -> Verdict:
    """The JobSet is of no use any more; the next one follows when it is gone."""
    return verdict(
        *delete_ghosts(facts),
        *delete_jobset(facts),
        reason="CapacityFailed" if facts.jobset_failed else "Resized",
        text=facts.jobset_failed or "the job or the WorkloadMixing was changed; capacity is asked for anew",
        after=LOOK_AGAIN,
    )
