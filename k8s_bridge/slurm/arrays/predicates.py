"""What shows a state of an array or of a slot: one predicate per row of their tables."""

from __future__ import annotations

from k8s_bridge.core.admission import Capacity
from k8s_bridge.slurm import predicates as is_
from k8s_bridge.slurm.arrays.facts import ArrayFacts, SlotFacts
from k8s_bridge.slurm.layout.features import pin_of


def array_done(facts: ArrayFacts) -> bool:
    """Over, and no slot is left."""
    return facts.over and not facts.array.slots


def array_retained(facts: ArrayFacts) -> bool:
    """Over; the slots that are left are kept for a while and hold nothing any more."""
    return facts.over and all(is_.retained(SlotFacts(slot, facts.now)) for slot in facts.array.slots)


def array_foreign(facts: ArrayFacts) -> bool:
    """Not in a managed partition, or never held for us."""
    if facts.unit.partition is None:
        return True
    if facts.array.slots or facts.ours_by_text or any(_pinned(facts, r.features) for r in facts.waiting):
        return False
    return bool(facts.running) or not (facts.job.held or facts.unit.partition.adopt_unheld)


def array_escaped(facts: ArrayFacts) -> bool:
    """Its tasks are neither held nor pinned: somebody released it past Kueue, or it was never held."""
    return bool(facts.escaped)


def to_free(facts: ArrayFacts) -> bool:
    """A slot serves, and tasks wait that are not free to run there; or tasks were requeued too often."""
    return bool(facts.to_free or facts.worn_out)


def array_astray(facts: ArrayFacts) -> bool:
    """More tasks run than there are slots for: some were released past Kueue, and started elsewhere."""
    return facts.astray > 0


def array_runs(facts: ArrayFacts) -> bool:
    """Tasks have nodes."""
    return facts.running > 0


def array_held_by_other(facts: ArrayFacts) -> bool:
    """All tasks that wait are held by somebody else."""
    own = facts.job
    if facts.startable or not facts.waiting:
        return False
    return is_.held_by_other(facts) if own in facts.waiting else True


def array_released(facts: ArrayFacts) -> bool:
    """Tasks wait that are pinned and not held."""
    return any(not r.held and _pinned(facts, r.features) for r in facts.waiting)


def without_slot(facts: ArrayFacts) -> bool:
    """No slot was asked for yet."""
    return not facts.kept


def array_out_of_turn(facts: ArrayFacts) -> bool:
    """No slot was asked for, and enough is asked for already in this queue."""
    return without_slot(facts) and is_.out_of_turn(facts)


def array_denied(facts: ArrayFacts) -> bool:
    """The JobSet of its first slot was refused at the last attempt."""
    return without_slot(facts) and facts.unit.denied is not None


def all_queued(facts: ArrayFacts) -> bool:
    """No slot has quota."""
    return not any(slot.admitted for slot in facts.kept)


def some_admitted(_: ArrayFacts) -> bool:
    """Slots have quota, and none serves yet (the last row: always true)."""
    return True


def slot_done(facts: SlotFacts) -> bool:
    """Neither its JobSet nor a node of it is left."""
    return facts.unit.jobset is None and not facts.unit.nodes


def slot_evicted(facts: SlotFacts) -> bool:
    """It has nodes, and Kueue took the capacity back."""
    return bool(facts.unit.nodes) and facts.unit.jobset is not None and not (facts.admitted or ended(facts))


def slot_lost(facts: SlotFacts) -> bool:
    """A task runs on a node whose pod is gone; or nodes are left, and the JobSet is gone or has failed."""
    if facts.unit.nodes and (facts.unit.jobset is None or facts.jobset_failed):
        return True
    return any(name not in facts.live for name in facts.busy)


def unwanted(facts: SlotFacts) -> bool:
    """The array has no use for it (any more)."""
    return bool(facts.unwanted)


def ended(facts: SlotFacts) -> bool:
    """Its JobSet or its Workload has ended."""
    return bool(facts.jobset_failed) or facts.admission.capacity is Capacity.FINISHED


def busy(facts: SlotFacts) -> bool:
    """A task runs on its nodes."""
    return bool(facts.busy)


def _pinned(facts: ArrayFacts, constraints: str) -> bool:
    return bool(pin_of(constraints, job_id=facts.unit.job_id))
