"""What an array asks for, which slots it gives back, and how its tasks are let go."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from support.array_state import ARRAY, PARTITION, PENDING, RUNNING
from support.array_world import ArrayWorld

from api.v1alpha1.policy import NoRequeuePolicy
from k8s_bridge.core import naming
from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Delete
from k8s_bridge.slurm.arrays.facts import AHEAD, ArrayFacts
from k8s_bridge.slurm.arrays.records import speaker
from k8s_bridge.slurm.arrays.tasks import RELAUNCH
from k8s_bridge.slurm.decide import decide
from k8s_bridge.slurm.effects import (
    AllowRequeue,
    Cancel,
    CreateJobSet,
    Effect,
    NodesDown,
    PinAndRelease,
    Repin,
    SetText,
    TakeHold,
)
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.unit import Denial, Seen, Slot, State, Unit

NOW = 1000.0


def one_pass(world: ArrayWorld) -> None:
    for key in world.units():
        unit = world.array_unit() if isinstance(key, int) else world.slot_unit(key.number)
        for effect in decide(unit, now=NOW).effects:
            world.carry_out(key, effect)


def served(**fields: int) -> ArrayWorld:
    """The first slots are up, and Slurm has started what it can."""
    world = ArrayWorld(**fields)
    for _ in range(12):
        one_pass(world)
        world.kueue_admits()
        world.pods_are_made()
        world.nodes_register()
    world.slurm_starts()
    return world


def effects(world: ArrayWorld, kind: type, **changes: object) -> list:
    decision = decide(world.array_unit(**changes), now=NOW)
    return [effect for effect in decision.effects if isinstance(effect, kind)]


def test_without_quota_a_few_slots_wait_however_many_tasks_there_are():
    world = ArrayWorld(count=1000, quota=0)
    for _ in range(20):
        one_pass(world)
    assert len(world.slots) == AHEAD


def test_as_many_wait_as_have_quota_and_never_more_than_there_are_tasks():
    assert len(served(count=1000, quota=6).slots) == 12
    assert len(served(count=7, quota=6).slots) == 7


def test_no_more_slots_than_tasks_may_run_at_a_time():
    assert len(served(count=9, quota=6, limit=2).slots) == 2


def test_slots_that_wait_go_first_and_one_that_runs_a_task_never_goes():
    world = served(count=4, quota=2)
    assert set(ArrayFacts(world.array_unit(), NOW).unwanted) == set()
    world.waiting.pop()
    assert set(ArrayFacts(world.array_unit(), NOW).unwanted) == {3}
    world.waiting.clear()
    world.records[ARRAY] = msgspec.structs.replace(world.own, states=frozenset({"CANCELLED"}))
    assert set(ArrayFacts(world.array_unit(), NOW).unwanted) == {2, 3}


def test_a_slot_of_an_old_shape_finishes_its_task_and_takes_no_other():
    world = served(count=4, quota=1)
    whole = replace(world.array_unit(), shape="new")
    old = replace(world.slot_unit(0, seen=Seen(state=State.DRAINING, since=0.0)), whole=whole)
    decision = decide(old, now=NOW)
    assert decision.state == State.DRAINING
    assert [type(effect).__name__ for effect in decision.effects] == ["NodesDrain"]


def test_a_requeued_task_is_freed_of_its_delay_by_its_own_id():
    world = served(count=1, quota=1)
    world.scontrol_requeue(0)
    row = msgspec.structs.replace(world.records[ARRAY], eligible_time=int(NOW) + 100)
    world.records = {101: msgspec.structs.replace(row, job_id=101), ARRAY: world.own}
    (freed,) = effects(world, Repin)
    assert (freed.job_id, freed.constraints) == (101, naming.node_feature(ARRAY))


def test_a_task_that_was_requeued_this_second_may_not_start_on_the_same_nodes_yet():
    world = served(count=1, quota=1)
    world.scontrol_requeue(0)
    row = world.records[ARRAY]
    world.records[ARRAY] = msgspec.structs.replace(row, submit_time=int(NOW), eligible_time=int(NOW) + 100)
    assert effects(world, Repin) == []
    assert decide(world.array_unit(), now=NOW + 0.5).after == RELAUNCH - 0.5
    later = decide(world.array_unit(), now=NOW + RELAUNCH)
    assert [type(effect) for effect in later.effects] == [Repin]


def test_a_slot_whose_nodes_were_given_back_goes_although_a_task_has_come_back_for_it():
    world = served(count=1, quota=1)
    world.scontrol_requeue(0)
    world.slots[0].nodes.clear()
    draining = Seen(state=State.DRAINING, since=NOW)
    decision = decide(world.slot_unit(0, seen=draining), now=NOW)
    assert "Delete" in [type(effect).__name__ for effect in decision.effects]
    coming_up = Seen(state=State.ADMITTED, since=NOW)
    assert decide(world.slot_unit(0, seen=coming_up), now=NOW).effects == ()
    world.slots[0].pods.clear()
    assert decide(world.slot_unit(0, seen=draining), now=NOW).effects == (), "a new one of that number"


def test_a_slot_serves_only_when_no_node_of_a_pod_that_ends_is_left_to_start_on():
    world = ArrayWorld(count=1, quota=1)
    one_pass(world)
    world.kueue_admits()
    world.pods_are_made()
    world.nodes_register()
    world.pod_dies(0)
    world.pods_are_made()
    world.nodes_register()
    old, new = world.slots[0].nodes
    assert effects(world, PinAndRelease) == []
    one_pass(world)
    assert set(world.slots[0].nodes) == {new}
    (released,) = effects(world, PinAndRelease)
    assert released.nodes == (new,)
    assert world.slots[0].pods[old] == "Terminating"


def test_a_task_that_somebody_holds_is_neither_freed_nor_asked_for():
    world = served(count=1, quota=1)
    world.scontrol_requeue(0)
    world.records[ARRAY] = msgspec.structs.replace(
        world.records[ARRAY], held=True, reason="JobHeldAdmin", eligible_time=int(NOW) + 100
    )
    assert effects(world, Repin) == []
    assert decide(world.array_unit(), now=NOW).state == State.HELD_BY_OTHER
    assert set(ArrayFacts(world.array_unit(), NOW).unwanted) == {0}


def split_off(world: ArrayWorld, *, held: bool, text: str) -> ArrayWorld:
    """slurmctld looked at a released array: one task has a record of its own, and the last is the array's."""
    last, first = (
        msgspec.structs.replace(
            world.own,
            job_id=job_id,
            array_task_id=task,
            array_size=0,
            features="",
            held=held,
            reason="JobHeldAdmin" if held else "Resources",
            admin_comment=text,
        )
        for job_id, task in ((ARRAY, 1), (ARRAY + 1, 0))
    )
    world.records |= {ARRAY: last, ARRAY + 1: first}
    world.waiting.clear()
    return world


def test_tasks_that_were_released_past_kueue_and_split_off_are_all_held_again():
    world = split_off(ArrayWorld(count=2, quota=0), held=False, text="k8s-bridge: Queued: asked Kueue")
    held = {effect.job_id for effect in effects(world, TakeHold)}
    assert held == {ARRAY, ARRAY + 1}
    assert decide(world.array_unit(), now=NOW).state == State.HELD


def test_tasks_that_were_split_off_and_held_by_us_are_asked_for_and_freed():
    world = split_off(ArrayWorld(count=2, quota=2), held=True, text="k8s-bridge: Held: held by k8s-bridge")
    facts = ArrayFacts(world.array_unit(), NOW)
    assert {record.job_id for record in facts.startable} == {ARRAY, ARRAY + 1}
    assert facts.short


def test_a_task_that_was_split_off_and_is_held_by_others_is_not_ours_to_free():
    world = split_off(ArrayWorld(count=2, quota=2), held=True, text="k8s-bridge: Released: on 1 slot(s)")
    assert ArrayFacts(world.array_unit(), NOW).startable == ()


def test_tasks_of_several_nodes_are_pinned_to_the_slots_that_serve():
    world = ArrayWorld(count=4, width=2, quota=2)
    for _ in range(12):
        one_pass(world)
        world.kueue_admits()
        world.pods_are_made()
        world.nodes_register()
    one = naming.slot_feature(ARRAY, 0)
    assert world.own.features == f"[{one}|{naming.slot_feature(ARRAY, 1)}]"


def test_a_task_that_is_requeued_without_end_is_cancelled_alone():
    world = served(count=2, quota=2)
    limited = replace(PARTITION, requeue_limit=1)
    for job_id in world.records:
        world.records[job_id] = msgspec.structs.replace(
            world.records[job_id], states=PENDING, nodes="", restart_count=2
        )
    decision = decide(replace(world.array_unit(), partition=limited), now=NOW)
    cancelled = {e.job_id: e.task for e in decision.effects if isinstance(e, Cancel)}
    last = world.records[ARRAY].array_task_id
    assert cancelled == {ARRAY: last, next(i for i in world.records if i != ARRAY): None}


@pytest.mark.parametrize(("policy", "asked"), [(NoRequeuePolicy.FAIL, 0), (NoRequeuePolicy.REQUEUE, 1)])
def test_tasks_may_be_requeued_where_the_policy_says_so(policy, asked):
    world = ArrayWorld(count=2, quota=1)
    world.own = msgspec.structs.replace(world.own, requeue=False)
    one_pass(world)
    world.kueue_admits()
    world.pods_are_made()
    world.nodes_register()
    decision = decide(replace(world.array_unit(), partition=replace(PARTITION, no_requeue=policy)), now=NOW)
    assert sum(isinstance(effect, AllowRequeue) for effect in decision.effects) == asked
    assert sum(isinstance(effect, PinAndRelease) for effect in decision.effects) == 1


def test_a_slot_that_was_refused_or_has_failed_makes_the_next_one_wait():
    world = ArrayWorld(count=2)
    one_pass(world)
    assert effects(world, CreateJobSet)
    refused = Denial(reason="Forbidden", text="no", until=NOW + 5)
    assert not effects(world, CreateJobSet, denied=refused)
    failed = Seen(state=State.QUEUED, since=0.0, not_before=NOW + 5)
    assert not effects(world, CreateJobSet, seen=failed)
    assert not effects(world, CreateJobSet, may_create=False)


def test_only_the_nodes_of_an_evicted_slot_go_down():
    world = served(count=4, quota=2)
    world.kueue_evicts(0)
    for key in world.units():
        if isinstance(key, Slot):
            decision = decide(world.slot_unit(key.number), now=NOW)
            down = [effect.nodes for effect in decision.effects if isinstance(effect, NodesDown)]
            assert down == ([tuple(world.slots[0].nodes)] if key.number == 0 else [])


@pytest.mark.parametrize(("seconds", "down"), [(0.1, False), (3.0, True)])
def test_nodes_that_are_seen_before_their_admission_are_left_alone(seconds: float, *, down: bool):
    unit = served(count=4, quota=2).slot_unit(0)
    assert unit.jobset
    asleep = msgspec.structs.replace(
        unit.jobset, spec=msgspec.structs.replace(unit.jobset.spec, suspend=True)
    )
    seen = Seen(state=State.EVICTED, since=NOW - seconds)
    decision = decide(replace(unit, jobset=asleep, workload=None, seen=seen), now=NOW)
    assert decision.state is State.EVICTED
    assert any(isinstance(effect, NodesDown) for effect in decision.effects) is down


def test_a_requeued_task_speaks_for_the_array_under_its_id_and_identity():
    own = Job(job_id=7, array_job_id=7, states=frozenset({"COMPLETED"}), submit_time=1)
    task = Job(job_id=9, array_job_id=7, states=PENDING, submit_time=5, restart_count=1, tasks=3)
    spoken = speaker(own, [task])
    assert (spoken.job_id, spoken.submit_time, spoken.restart_count, spoken.tasks) == (7, 1, 0, 3)


def test_slots_that_are_left_of_an_array_with_a_failed_task_are_kept_without_quota():
    world = served(count=2)
    keep = replace(PARTITION, retention=3600.0)

    def array() -> Unit:
        whole = world.array_unit()
        assert whole.array
        slots = tuple(replace(slot, partition=keep) for slot in whole.array.slots)
        return replace(whole, partition=keep, array=replace(whole.array, slots=slots, failed=True))

    def slot(number: int) -> Decision[Effect]:
        whole = array()
        assert whole.array
        return decide(replace(whole.array.slots[number], whole=whole), now=NOW)

    while world.rows() != [row for row in world.rows() if row.terminal]:
        world.task_ends(0)
    for number in (0, 1):
        for effect in slot(number).effects:
            world.carry_out(Slot(ARRAY, number), effect)
    world.kueue_finishes_evictions()
    assert [(slot(n).state, slot(n).after, world.slots[n].admitted) for n in (0, 1)] == [
        (State.RETAINED, 3600.0, False)
    ] * 2
    assert (decide(array(), now=NOW).state, decide(array(), now=NOW).after) == (State.RETAINED, None)
    assert [
        type(effect) for effect in decide(replace(slot_of(array()), whole=array()), now=NOW + 3600).effects
    ] == [Delete]


def slot_of(whole: Unit) -> Unit:
    assert whole.array
    return whole.array.slots[0]


def test_tasks_that_run_where_nothing_was_admitted_for_them_are_told_of():
    world = served(count=6, quota=2)
    assert decide(world.array_unit(), now=NOW).state == State.RUNNING
    world.records[900] = msgspec.structs.replace(world.own, job_id=900, states=RUNNING, array_task_id=5)
    assert decide(world.array_unit(), now=NOW).state == State.TRESPASS
    seen = Seen(state=State.TRESPASS, since=NOW - 2)
    (said,) = effects(world, SetText, seen=seen)
    assert "1 task(s) run on nodes that Kueue did not admit" in said.text
