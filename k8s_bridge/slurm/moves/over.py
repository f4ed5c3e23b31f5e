"""Moves of jobs that are over, forgotten, replaced or not ours: everything is given back."""

from __future__ import annotations

from k8s_bridge.core import naming
from k8s_bridge.slurm import parking
from k8s_bridge.slurm.effects import Effect, NodesDelete, NodesDrain
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.moves.common import (
    LOOK_AGAIN,
    Verdict,
    annotate,
    delete_jobset,
    policy_of,
    verdict,
)


def report_name_taken(facts: Facts, now: float) -> Verdict:
    """Never touch another's object."""
    return verdict(
        reason="NameTaken",
        text="a JobSet of this job's name exists and is not ours; delete or rename it",
        after=60.0,
    )


def report_guard(facts: Facts, now: float) -> Verdict:
    """Too many would go at once: a person has to look."""
    return verdict(
        reason="MassDeletionRefused",
        text="Slurm suddenly knows none of many jobs; nothing is deleted until it is confirmed",
        after=30.0,
    )


def give_back(facts: Facts, now: float) -> Verdict:
    """Delete idle node records first (a slurmd whose record is gone stays silent), then the JobSet."""
    busy = tuple(n.name for n in facts.unit.nodes if n.busy)
    idle = tuple(n.name for n in facts.unit.nodes if not n.busy)
    effects: list[Effect] = []
    if busy:
        effects.append(NodesDrain(nodes=busy, reason="k8s-bridge: the job is over"))
    if idle:
        effects.append(NodesDelete(nodes=idle))
    if not busy:
        effects.extend(delete_jobset(facts))
    return verdict(*effects, after=LOOK_AGAIN)


def drain(facts: Facts, now: float) -> Verdict:
    """The job is over: give everything back; keep a failed job's JobSet, without quota, if asked to."""
    job, retention = facts.unit.job, policy_of(facts).retention
    failed = job is not None and bool(
        job.states & {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "TIMEOUT"}
    )
    if not (failed and retention and facts.unit.jobset):
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
    if facts.unit.jobset is None and not facts.unit.nodes:
        return verdict()
    return give_back(facts, now)
