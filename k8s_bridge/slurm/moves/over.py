"""Moves of jobs that are over, forgotten, replaced or not ours: everything is given back."""

from __future__ import annotations

from k8s_bridge.core import naming
from k8s_bridge.slurm import parking
from k8s_bridge.slurm.effects import Effect, NodesDelete, NodesDrain, SetText
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import (
    LOOK_AGAIN,
    Verdict,
    annotate,
    delete_jobset,
    lasted,
    policy_of,
    verdict,
)
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import State

BUSY_GRACE = 1.0
"""Seconds that a node may be busy after its job is over before it is drained."""
_GIVING_BACK = (State.DRAINING, State.REPLACED, State.FOREIGN, State.REFUSED, State.INELIGIBLE)


def report_guard(facts: Facts, now: float) -> Verdict:
    """Too many would go at once: a person has to look."""
    return verdict(
        reason="MassDeletionRefused",
        text="Slurm suddenly knows none of many jobs; nothing is deleted until it is confirmed",
        after=30.0,
    )


def give_back(facts: Facts, now: float, *, why: str = "the job is over") -> Verdict:
    """Delete idle node records first (a slurmd whose record is gone stays silent), then the JobSet.

    Jobs and nodes are read at slightly different times: a node that is busy still gets a moment to be seen
    idle before it is drained.
    """
    busy = tuple(n.name for n in facts.unit.nodes if n.busy)
    idle = tuple(n.name for n in facts.unit.nodes if not n.busy)
    effects: list[Effect] = [NodesDelete(nodes=idle)] if idle else []
    if not busy:
        return verdict(*effects, *delete_jobset(facts), after=LOOK_AGAIN)
    if any(lasted(facts, state, BUSY_GRACE, now) for state in _GIVING_BACK):
        effects.insert(0, NodesDrain(nodes=busy, reason=f"k8s-bridge: {why}"))
    return verdict(*effects, after=BUSY_GRACE)


def drain(facts: Facts, now: float) -> Verdict:
    """The job is over: give everything back; keep a failed job's JobSet, without quota, if asked to."""
    retention = policy_of(facts).retention
    if not (facts.failed and retention and facts.unit.jobset):
        return give_back(facts, now)
    names = tuple(n.name for n in facts.unit.nodes)
    retain = annotate(facts, {naming.RETAIN_UNTIL: f"{now + retention:.0f}"})
    return verdict(*([NodesDelete(nodes=names)] if names else []), *parking.deactivate(facts), retain)


def keep(facts: Facts, now: float) -> Verdict:
    """Kept for people to look at, until the time on it."""
    left = float(facts.annotations[naming.RETAIN_UNTIL]) - now
    return verdict(after=left) if left > 0 else verdict(*delete_jobset(facts))


def let_go(facts: Facts, now: float) -> Verdict:
    """Not for us (any more): whatever was made for it is taken away, the job is left alone."""
    text = _let_go_text(facts)
    if facts.unit.jobset is None and not facts.unit.nodes:
        return verdict(*text)
    back = give_back(facts, now)
    return verdict(*text, *back.effects, after=back.after)


def _let_go_text(facts: Facts) -> tuple[Effect, ...]:
    """A job of ours that left our partitions, where only an admin can release it, or that got past Kueue."""
    job = facts.unit.job
    if job is None or not facts.ours_by_text:
        return ()
    if facts.elsewhere:
        text = say("PastKueue", f"it was released past Kueue, and runs on {job.nodes}")
    elif job.pending and job.held:
        gone = f"partition {job.partition} is not managed by Kueue any more; release the job"
        text = say("NotManaged", gone)
    else:
        return ()
    return (SetText(job_id=job.job_id, text=text),) if text != job.admin_comment else ()
