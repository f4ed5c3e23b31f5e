"""What shows a state: one predicate per row of the table in decide.py.

Rows are tried in order, so each predicate may rest on those above it not holding.
"""

from __future__ import annotations

from k8s_bridge.core import naming
from k8s_bridge.core.admission import Capacity
from k8s_bridge.slurm.eligibility import Grip, withholds
from k8s_bridge.slurm.facts import Facts, held_against_text
from k8s_bridge.slurm.layout.types import Refusal
from k8s_bridge.slurm.model import COMPLETING
from k8s_bridge.slurm.seen import paused
from k8s_bridge.slurm.unit import Deletion, Presence

_FINAL_HOLDS = frozenset({"JobHeldAdmin", "JobHoldMaxRequeue", "JobLaunchFailure"})


def unknown(facts: Facts) -> bool:
    """Slurm has not said yet whether it knows the job."""
    return facts.unit.presence is Presence.UNKNOWN


def replaced(facts: Facts) -> bool:
    """The JobSet was made for an older job of the same id."""
    return facts.unit.jobset is not None and not facts.same_job


def over(facts: Facts) -> bool:
    """Slurm has forgotten the job, or it reached a final state."""
    return facts.over


def done(facts: Facts) -> bool:
    """Over, and nothing of it is left."""
    return facts.over and facts.unit.jobset is None and not facts.unit.nodes


def guarded(facts: Facts) -> bool:
    """Forgotten together with suspiciously many others."""
    return facts.unit.presence is Presence.GONE and facts.unit.deletion is Deletion.REFUSED


def retained(facts: Facts) -> bool:
    """Over; its JobSet is kept for a while and holds nothing any more."""
    return facts.over and naming.RETAIN_UNTIL in facts.annotations and not facts.unit.nodes


def foreign(facts: Facts) -> bool:
    """Not in a managed partition, running on nodes that are not ours, or never held for us."""
    unit, job = facts.unit, facts.job
    if facts.elsewhere:
        return True
    if unit.partition is None:
        return not job.active or unit.jobset is None
    if unit.jobset is not None or facts.pinned or facts.ours_by_text:
        return False
    return job.active or (not job.held and not unit.partition.adopt_unheld)


def completing(facts: Facts) -> bool:
    """Slurm is cleaning up after it."""
    return COMPLETING in facts.job.states


def active(facts: Facts) -> bool:
    """It has nodes."""
    return facts.active


def active_evicted(facts: Facts) -> bool:
    """It has nodes, and Kueue took the capacity back."""
    return facts.active and facts.unit.jobset is not None and facts.withdrawn and not facts.jobset_failed


def active_lost(facts: Facts) -> bool:
    """It has nodes, and one of them or the JobSet is gone."""
    return facts.active and (facts.unit.jobset is None or bool(facts.dead) or bool(facts.jobset_failed))


def bad_constraints(facts: Facts) -> bool:
    """Slurm holds it because no node has our feature any more."""
    return facts.pinned and facts.job.reason == "BadConstraints"


def held_by_other(facts: Facts) -> bool:
    """Held although we released it, held otherwise than we do, or held by an admin before we ever touched it.

    Our hold is an admin's: it is a user's after `scontrol uhold`.
    """
    job = facts.job
    if not job.held:
        return False
    if held_against_text(job):
        return True
    if facts.released_on and facts.pinned and not facts.ours_by_text:
        return True
    if facts.unit.jobset is not None and facts.ours_by_text and job.reason == "JobHeldUser":
        return True
    return facts.unit.jobset is None and job.reason in _FINAL_HOLDS and not facts.ours_by_text


def pending_evicted(facts: Facts) -> bool:
    """Released and waiting, but the capacity was taken back."""
    return facts.free and facts.unit.jobset is not None and facts.withdrawn


def pending_lost(facts: Facts) -> bool:
    """Released and waiting, but nodes that it was released onto are gone; or taken back and not noted yet."""
    if not facts.free:
        return bool(facts.released_on) and facts.job.held
    return facts.unit.jobset is None or facts.emptied or not facts.released_nodes <= facts.live


def withheld(facts: Facts) -> bool:
    """Released, and Slurm does not start it for a reason that capacity cannot cure."""
    return facts.free and withholds(facts.job, now=facts.now)


def released(facts: Facts) -> bool:
    """Pinned, not held, on admitted capacity."""
    return facts.free


def escaped(facts: Facts) -> bool:
    """Not held and not pinned: somebody released it past Kueue, or it was never held (adopted)."""
    return not facts.job.held


def refused(facts: Facts) -> bool:
    """It asks for what cannot be given."""
    return isinstance(facts.unit.layout, Refusal)


def ineligible(facts: Facts) -> bool:
    """Slurm itself would not start it yet."""
    if facts.obstacle is None:
        return False
    return facts.obstacle.grip is Grip.FIRM or facts.unit.jobset is None or parked(facts)


def without_jobset(facts: Facts) -> bool:
    """Nothing was asked for yet."""
    return facts.unit.jobset is None


def out_of_turn(facts: Facts) -> bool:
    """Enough is asked for already in this queue."""
    return without_jobset(facts) and not facts.unit.may_create and not paused(facts.unit.seen, facts.now)


def denied(facts: Facts) -> bool:
    """Its JobSet was refused at the last attempt."""
    return without_jobset(facts) and facts.unit.denied is not None


def resized(facts: Facts) -> bool:
    """What the job needs, or where and how it is to be asked for, changed after the JobSet was made.

    Or the JobSet was kept of a failed job, which is to run again.
    """
    return facts.outdated


def capacity_failed(facts: Facts) -> bool:
    """The JobSet ended before the job ran."""
    return bool(facts.jobset_failed) or facts.admission.capacity is Capacity.FINISHED


def parked(facts: Facts) -> bool:
    """We gave the quota back for a while."""
    return naming.PARKED in facts.annotations


def queued(facts: Facts) -> bool:
    """No capacity."""
    return facts.admission.capacity is not Capacity.ADMITTED


def trespassed(facts: Facts) -> bool:
    """Something else runs on capacity that was admitted for this job."""
    return bool(facts.trespassed)


def ready(facts: Facts) -> bool:
    """Every wanted node is registered, idle and on a live pod, and there is no other."""
    wanted = facts.wanted
    return 0 < wanted == len(facts.ready) == len(facts.live)


def admitted(facts: Facts) -> bool:
    """Capacity is there, nodes are on their way (the last row: always true)."""
    return facts.admission.capacity is Capacity.ADMITTED
