"""An array whose tasks Slurm withholds, such as beyond a limit of their owner, keeps no idle capacity."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from support.array_world import ArrayWorld

from k8s_bridge.core import naming
from k8s_bridge.core.effects import Patch
from k8s_bridge.slurm.arrays.facts import IDLE_GRACE, ArrayFacts
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.unit import Seen, State, Unit

NOW = 1000.0
LIMIT = "AssocMaxJobsLimit"
IDLE = Seen(state=State.READY, since=NOW - IDLE_GRACE)


def limited(*, running: int) -> ArrayWorld:
    """Three slots serve, so many tasks run, and a limit lets no other start."""
    world = ArrayWorld(count=9, quota=3)
    for _ in range(12):
        for key in world.units():
            unit = world.array_unit() if isinstance(key, int) else world.slot_unit(key.number)
            for effect in decide(unit, now=NOW).effects:
                world.carry_out(key, effect)
        world.kueue_admits()
        world.pods_are_made()
        world.nodes_register()
    world.slurm_starts()
    for _ in range(3 - running):
        world.task_ends(0)
    world.own = msgspec.structs.replace(world.own, reason=LIMIT)
    return world


def seen(unit: Unit, seen: Seen) -> Unit:
    """Its slots have been in that state since then."""
    assert unit.array is not None
    slots = tuple(replace(slot, seen=seen) for slot in unit.array.slots)
    return replace(unit, array=replace(unit.array, slots=slots))


def given_back(world: ArrayWorld, *, since: float) -> set[int]:
    """The slots with quota that are given back."""
    unit = seen(world.array_unit(), replace(IDLE, since=since))
    facts = ArrayFacts(unit, NOW)
    serving = {slot.unit.slot for slot in facts.serving}
    return {number for number, why in facts.unwanted.items() if LIMIT in why and number in serving}


def test_slots_that_no_task_takes_are_given_back_after_a_grace():
    world = limited(running=1)
    assert given_back(world, since=NOW - IDLE_GRACE + 1) == set()
    assert len(given_back(world, since=NOW - IDLE_GRACE)) == 2


def test_where_nothing_runs_one_slot_stays_to_see_when_the_limit_allows_it():
    assert len(given_back(limited(running=0), since=NOW - IDLE_GRACE)) == 2


def test_slots_stay_when_slurm_may_start_a_task():
    world = limited(running=1)
    world.own = msgspec.structs.replace(world.own, reason="Resources")
    assert given_back(world, since=NOW - IDLE_GRACE) == set()


def test_no_more_slots_are_asked_for_beyond_a_limit():
    assert not ArrayFacts(limited(running=1).array_unit(), NOW).short


def test_the_last_slot_gives_its_quota_back_for_a_while_and_says_why():
    world = limited(running=0)
    number = next(slot.unit.slot for slot in ArrayFacts(world.array_unit(), NOW).serving)
    decision = decide(world.slot_unit(number, seen=IDLE), now=NOW)
    assert (decision.reason, LIMIT in decision.text) == ("Withheld", True)
    patches = [effect.patch for effect in decision.effects if isinstance(effect, Patch)]
    marks = [patch["metadata"]["annotations"][naming.PARKED] for patch in patches if "metadata" in patch]
    assert [LIMIT in mark for mark in marks] == [True]
