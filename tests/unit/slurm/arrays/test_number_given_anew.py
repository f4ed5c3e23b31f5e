"""A slot's number is given anew at once: the next one does not inherit what was seen of the one before."""

from __future__ import annotations

from support.array_state import ARRAY
from support.array_world import ArrayWorld

from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import CreateJobSet
from k8s_bridge.slurm.seen import of_slot
from k8s_bridge.slurm.unit import Seen, Slot, State

NOW = 1000.0


def coming_up() -> ArrayWorld:
    """An array whose one slot has a pod, and no node yet."""
    world = ArrayWorld(count=1, quota=1)
    (create,) = (e for e in decide(world.array_unit(), now=NOW).effects if isinstance(e, CreateJobSet))
    world.carry_out(ARRAY, create)
    world.kueue_admits()
    world.pods_are_made()
    return world


def gives_back(world: ArrayWorld, *, given_back: str) -> bool:
    """Whether the slot is given back after its nodes, or those of another JobSet, were."""
    world.seen[Slot(ARRAY, 0)] = Seen(state=State.DRAINING, since=NOW, jobset=given_back)
    return bool(decide(world.slot_unit(0), now=NOW).effects)


def test_a_slot_is_given_back_for_the_nodes_of_its_own_jobset_only():
    world = coming_up()
    jobset = world.slots[0].jobset
    assert jobset is not None
    assert gives_back(world, given_back=jobset.metadata.uid)
    assert not gives_back(world, given_back="the one before")


def test_what_was_seen_is_kept_while_the_jobset_is_the_same_or_gone():
    jobset = coming_up().slots[0].jobset
    assert jobset is not None
    seen = Seen(state=State.READY, since=NOW, jobset=jobset.metadata.uid)
    assert of_slot(seen, jobset) is of_slot(seen, None) is seen
    assert of_slot(None, jobset) is None
