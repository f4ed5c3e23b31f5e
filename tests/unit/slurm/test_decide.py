"""The table of states: what shows each state, and what it does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest
from support.job_world import FEATURE, PARTITION, World

from api.v1alpha1.policy import NoRequeuePolicy, RefusedJobPolicy
from api.views import ContainerState, ContainerStateWaiting, ContainerStatus, Pod, PodStatus
from k8s_bridge.core import naming
from k8s_bridge.core.errors import Conflict
from k8s_bridge.slurm.decide import TABLE, decide
from k8s_bridge.slurm.effects import (
    Acknowledge,
    Begin,
    Cancel,
    NodesDown,
    PinAndRelease,
    Recount,
    Rehold,
    SetPriority,
    SetText,
    TakeHold,
)
from k8s_bridge.slurm.eligibility import Availability, Surroundings
from k8s_bridge.slurm.facts import CLAIM, TEXT_PREFIX
from k8s_bridge.slurm.layout.types import Refusal
from k8s_bridge.slurm.unit import Deletion, Denial, Presence, Retry, Seen, State

NOW = 5000.0


def verdict(world: World, *, now: float = NOW, **changes):
    decision = decide(world.unit(**changes), now=now)
    return State(decision.state), decision


def names(decision) -> list[str]:
    return [type(effect).__name__ for effect in decision.effects]


def one_pass(world: World) -> tuple[State, list[str]]:
    state, decision = verdict(world)
    for effect in decision.effects:
        world.carry_out(effect)
    return state, names(decision)


def admitted() -> World:
    world = World()
    one_pass(world)
    world.kueue_sees()
    world.kueue_admits()
    world.pods_are_made()
    world.pods_run()
    return world


def released() -> World:
    world = admitted()
    world.nodes_register()
    one_pass(world)
    return world


def running() -> World:
    world = released()
    world.slurm_starts()
    return world


def change(world: World, **fields) -> World:
    world.job = msgspec.structs.replace(world.job, **fields)
    return world


def test_every_state_has_a_row():
    assert {row.state for row in TABLE} == set(State)


def test_the_life_of_a_job():
    world = World()
    assert one_pass(world) == (State.HELD, ["TakeHold", "CreateJobSet"])
    world.kueue_sees()
    assert one_pass(world) == (State.QUEUED, [])
    world.kueue_admits()
    assert one_pass(world) == (State.ADMITTED, [])
    world.pods_are_made()
    world.pods_run()
    world.nodes_register()
    assert one_pass(world) == (State.READY, ["PinAndRelease", "Patch"])
    assert one_pass(world) == (State.RELEASED, [])
    world.slurm_starts()
    assert one_pass(world) == (State.RUNNING, [])
    world.job_ends()
    assert one_pass(world) == (State.DRAINING, ["NodesDelete", "Delete"])
    assert one_pass(world) == (State.DONE, [])


def test_the_jobs_owner_cannot_release_it_past_kueue():
    world = World()
    one_pass(world)
    world.scontrol_release()
    state, decision = verdict(world)
    assert state is State.HELD
    assert isinstance(decision.effects[0], TakeHold)


def test_a_job_that_was_never_held_is_left_alone_unless_it_is_to_be_adopted():
    world = change(World(), held=False, reason="None")
    assert verdict(world)[0] is State.FOREIGN
    state, decision = verdict(world, partition=replace(PARTITION, adopt_unheld=True))
    assert (state, names(decision)) == (State.HELD, ["TakeHold"])


def test_an_unmanaged_partition_is_left_alone():
    assert verdict(World(), partition=None) == (State.FOREIGN, decide(World().unit(partition=None), now=NOW))
    assert verdict(World(), partition=None)[1].effects == ()


def test_an_admins_hold_from_before_is_respected():
    state, decision = verdict(change(World(), reason="JobHeldAdmin"))
    assert state is State.HELD_BY_OTHER
    assert names(decision) == ["SetText"]


def test_preemption_takes_the_nodes_down_before_anything_else():
    world = running()
    world.kueue_evicts()
    state, decision = verdict(world)
    assert state is State.EVICTED
    assert names(decision) == ["NodesDown", "Rehold", "NodesDelete", "Patch"]
    assert isinstance(decision.effects[0], NodesDown)
    assert set(decision.effects[0].nodes) == set(world.job.nodes.split(","))
    assert decision.text.startswith("preempted: ")


def test_after_preemption_the_job_waits_in_the_queue_again_and_the_count_goes_up():
    world = running()
    world.kueue_evicts()
    one_pass(world)
    world.kueue_finishes_eviction()
    assert world.job.held
    assert world.job.features == ""
    assert world.jobset.metadata.annotations[naming.REQUEUES] == "1"
    assert one_pass(world)[0] is State.QUEUED


def test_a_workload_deleted_by_hand_leaves_no_condition_but_is_an_eviction():
    world = running()
    world.workload_deleted()
    world.kueue_sees()
    assert verdict(world)[0] is State.EVICTED


def test_old_nodes_are_told_from_new_ones_when_the_workload_was_replaced():
    world = running()
    world.workload_deleted()
    world.kueue_sees()
    world.kueue_admits()
    world.pods_are_made()
    world.pods_run()
    world.nodes_register()
    old, new = set(world.job.nodes.split(",")), set(world.nodes) - set(world.job.nodes.split(","))
    state, decision = verdict(world)
    assert state is State.EVICTED
    assert set(decision.effects[0].nodes) == old
    assert not set(decision.effects[0].nodes) & new


def test_a_lost_pod_requeues_the_job_and_never_cancels_it():
    world = running()
    world.pod_dies(0)
    state, decision = verdict(world)
    assert state is State.LOST
    assert len(decision.effects[0].nodes) == 1
    assert not any(isinstance(effect, Cancel) for effect in decision.effects)


def test_a_pod_that_is_only_not_seen_yet_is_waited_for():
    world = running()
    for name in list(world.pods):
        del world.pods[name]
    state, decision = verdict(world)
    assert state is State.LOST
    assert names(decision) == []
    late = verdict(world, now=NOW + 5, seen=Seen(state=State.LOST, since=NOW))[1]
    assert names(late)[0] == "NodesDown"


def test_a_deleted_jobset_requeues_the_job():
    world = running()
    world.jobset_deleted()
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.LOST, ["NodesDown", "Rehold", "NodesDelete"])


def test_a_deleted_jobset_cancels_the_job_where_orphans_are_to_be_cancelled():
    world = running()
    world.jobset_deleted()
    _, decision = verdict(world, partition=replace(PARTITION, cancel_orphans=True))
    assert names(decision) == ["Cancel"]


def test_an_orphan_is_given_the_time_that_was_asked_for():
    world = running()
    world.jobset_deleted()
    orphans = replace(PARTITION, cancel_orphans=True, orphan_grace=30.0)
    state, decision = verdict(world, partition=orphans, seen=Seen(state=State.LOST, since=NOW - 29))
    assert (state, names(decision), decision.after) == (State.LOST, [], pytest.approx(1.0))
    _, decision = verdict(world, partition=orphans, seen=Seen(state=State.LOST, since=NOW - 30))
    assert names(decision) == ["Cancel"]


def test_requeues_count_on_when_the_jobset_is_gone():
    world = change(running(), restart_count=3)
    world.jobset_deleted()
    _, decision = verdict(world, partition=replace(PARTITION, requeue_limit=3))
    assert names(decision) == ["Cancel"]
    assert "requeued 3 times" in decision.effects[0].text


def test_too_many_requeues_end_the_job_with_the_reason():
    world = running()
    world.kueue_evicts()
    _, decision = verdict(world, partition=replace(PARTITION, requeue_limit=0))
    assert names(decision) == ["Cancel"]
    assert "requeued 0 times" in decision.effects[0].text


def test_a_hold_after_the_release_is_respected_and_the_quota_returned_after_a_grace():
    world = released()
    world.scontrol_hold()
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.HELD_BY_OTHER, ["SetText"])
    later = verdict(world, now=NOW + 31, seen=Seen(state=State.HELD_BY_OTHER, since=NOW))[1]
    assert names(later)[:2] == ["Patch", "Patch"]
    assert later.effects[1].patch == {"spec": {"active": False}}
    world.carry_out(later.effects[0])
    half_way = verdict(world, now=NOW + 31, seen=Seen(state=State.HELD_BY_OTHER, since=NOW))[1]
    assert half_way.effects[0] == later.effects[1], "the mark alone returns nothing"


def test_bad_constraints_are_not_a_persons_hold():
    world = change(released(), held=True, reason="BadConstraints")
    state, decision = verdict(world)
    assert state is State.LOST
    assert isinstance(decision.effects[0], Rehold)


def test_old_records_go_before_the_release():
    world = admitted()
    world.nodes_register()
    world.nodes["slurm-job-7-w-0-old"] = "IDLE"
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.READY, ["GhostsDelete", "PinAndRelease", "Patch"])


def test_the_users_constraints_are_kept_in_the_pin():
    world = admitted()
    world.nodes_register()
    change(world, features="a&b")
    go = next(e for e in verdict(world)[1].effects if isinstance(e, PinAndRelease))
    assert go.constraints == f"(a&b)&{FEATURE}"


def test_not_released_while_a_node_is_missing():
    world = admitted()
    world.nodes_register()
    del world.nodes[next(iter(world.nodes))]
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.ADMITTED, [])
    assert decision.text == "1 of 2 nodes are registered"


def test_what_keeps_a_pod_is_said():
    world = admitted()
    stuck = Pod(
        metadata=world.unit().pods[0].metadata,
        status=PodStatus(
            container_statuses=(
                ContainerStatus(
                    name="slurmd",
                    state=ContainerState(
                        waiting=ContainerStateWaiting(reason="ImagePullBackOff", message="no such image")
                    ),
                ),
            )
        ),
    )
    decision = verdict(world, pods=(stuck,))[1]
    assert (decision.reason, decision.text) == (
        "ImagePullBackOff",
        f"pod {stuck.metadata.name}: no such image",
    )


def test_capacity_that_does_not_come_is_given_back_for_a_while():
    world = admitted()
    seen = Seen(state=State.ADMITTED, since=NOW - PARTITION.provision_timeout)
    decision = verdict(world, seen=seen)[1]
    assert [e.patch for e in decision.effects if type(e).__name__ == "Patch"][-1] == {
        "spec": {"active": False}
    }
    assert decision.reason == "ProvisionTimeout"


def test_a_refused_job_says_the_option_and_asks_for_nothing():
    state, decision = verdict(World(), layout=Refusal(option="--tmp", text="is not possible."), shape="")
    assert (state, names(decision)) == (State.REFUSED, ["SetText"])
    assert decision.effects[0].text == "k8s-bridge: Refused: --tmp: is not possible."


def test_a_job_that_slurm_would_not_start_waits_without_quota_and_is_told_why():
    state, decision = verdict(change(World(), dependency="afterok:5(unfulfilled)"))
    assert (state, names(decision)) == (State.INELIGIBLE, ["SetText"])
    assert decision.effects[0].text == "k8s-bridge: Dependency: waits for its dependency afterok:5"


def test_a_begin_time_is_looked_at_again_when_it_has_come():
    state, decision = verdict(change(World(), eligible_time=int(NOW) + 600))
    assert (state, decision.reason, decision.after) == (State.INELIGIBLE, "BeginTime", 600)
    assert verdict(change(World(), eligible_time=int(NOW)))[0] is State.HELD


def test_capacity_goes_back_when_a_job_stops_being_eligible():
    world = admitted()
    change(world, eligible_time=int(NOW) + 600)
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.INELIGIBLE, ["Delete", "SetText"])


def test_licenses_that_run_out_do_not_cost_a_place_in_the_queue():
    world = World()
    one_pass(world)
    world.kueue_sees()
    change(world, licenses="m:1")
    none_free = Surroundings(available=Availability(licenses={"m": 0}))
    assert verdict(world, surroundings=none_free)[0] is State.QUEUED
    world.jobset = None
    assert verdict(world, surroundings=none_free)[0] is State.INELIGIBLE


def test_a_job_requeued_after_its_nodes_were_given_back_gets_new_ones():
    """scontrol requeue of a job that is over; its pods live, and never register again."""
    world = running()
    world.job_ends()
    _, decision = verdict(world)
    assert names(decision)[:2] == ["NodesDelete", "Delete"]
    world.carry_out(decision.effects[0])
    change(world, states=frozenset({"PENDING"}), nodes="", restart_count=1)
    world.nodes_register()
    assert one_pass(world) == (State.LOST, ["Rehold", "Delete"])
    assert (world.job.held, world.jobset) == (True, None)
    world.pods_vanish()
    assert one_pass(world) == (State.HELD, ["CreateJobSet"])


def test_a_job_that_slurm_withholds_gives_its_quota_back_and_is_not_counted_as_requeued():
    world = change(released(), reason="AssocGrpCpuLimit")
    state, decision = verdict(world)
    assert (state, decision.effects, decision.text) == (
        State.WITHHELD,
        (),
        "Slurm does not start it: AssocGrpCpuLimit",
    )
    seen = Seen(state=State.WITHHELD, since=NOW - 5)
    _, decision = verdict(world, seen=seen)
    assert names(decision) == ["Rehold", "Patch", "Patch", "Patch"]
    for effect in decision.effects:
        world.carry_out(effect)
    assert world.job.admin_comment == "k8s-bridge: Withheld: Slurm does not start it: AssocGrpCpuLimit"
    assert (world.active, world.jobset.metadata.annotations.get(naming.REQUEUES, "0")) == (False, "0")
    state, decision = verdict(world)
    assert state is State.PARKED
    assert "AssocGrpCpuLimit (attempt 1)" in decision.text


@pytest.mark.parametrize(
    ("retry", "later", "goes_on"),
    [
        (Retry.NOW, 0, True),
        (Retry.SOON, 59, False),
        (Retry.SOON, 61, True),
        (Retry.LATER, 599, False),
        (Retry.LATER, 601, True),
    ],
)
def test_how_long_a_job_that_was_tried_often_stays_parked(retry, later, goes_on):
    world = released()
    world.jobset.metadata.annotations[naming.PARKINGS] = "8"
    change(world, reason="AssocGrpCpuLimit")
    for effect in verdict(world, seen=Seen(state=State.WITHHELD, since=NOW - 5))[1].effects:
        world.carry_out(effect)
    _, decision = verdict(world, retry=retry, now=NOW + later)
    assert bool(names(decision)) is goes_on


def test_a_withheld_jobs_text_stays_until_it_is_held_again():
    """The text tells whose a later hold is."""
    world = change(released(), reason="AssocGrpCpuLimit")
    seen = Seen(state=State.WITHHELD, since=NOW - 3)
    assert names(verdict(world, seen=seen)[1]) == []
    world.scontrol_hold()
    assert verdict(world)[0] is State.HELD_BY_OTHER


def test_slurm_counts_again_when_it_wants_more_nodes_than_it_said():
    world = change(released(), reason="PartitionNodeLimit", node_count=3)
    seen = Seen(state=State.WITHHELD, since=NOW - 5)
    assert Recount(job_id=7, nodes=3) in verdict(world, seen=seen)[1].effects
    change(world, node_count=2)
    assert "Recount" not in names(verdict(world, seen=seen)[1])


def test_the_delay_of_a_requeue_is_undone_and_a_users_own_begin_time_is_not():
    world = change(released(), reason="BeginTime", restart_count=1, eligible_time=int(NOW) + 100)
    world.workload_deleted()
    (hold, *_) = verdict(world)[1].effects
    assert (type(hold), hold.begin) == (Rehold, Begin.AT_ONCE)
    change(world, eligible_time=int(NOW) + 9000)
    assert verdict(world)[1].effects[0].begin is Begin.AS_IT_IS


def test_a_hold_of_a_running_job_outlives_its_eviction():
    world = running()
    world.scontrol_hold_running()
    assert verdict(world)[0] is State.RUNNING
    world.kueue_evicts()
    with pytest.raises(Conflict):
        one_pass(world)
    assert (world.job.reason, world.job.features) == ("JobHeldUser", FEATURE)
    assert one_pass(world) == (State.HELD_BY_OTHER, ["SetText"])
    world.scontrol_release()
    assert one_pass(world) == (State.EVICTED, ["Rehold", "Patch"]), "pinned until it is ours to hold"
    assert world.job.features == ""


def test_so_can_one_that_has_just_lost_its_jobset():
    world = World()
    one_pass(world)
    world.scontrol_uhold()
    world.jobset_deleted()
    assert verdict(world)[0] is State.HELD_BY_OTHER


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Queued: asked Kueue for 2 node(s)", State.HELD_BY_OTHER),
        ("Pending: insufficient quota", State.HELD_BY_OTHER),
        ("Forbidden: a webhook says no", State.HELD_BY_OTHER),
        (CLAIM.removeprefix(TEXT_PREFIX), State.HELD),
        ("Refused: --tmp: drop it", State.HELD),
        ("Licenses: waits for licenses matlab", State.HELD),
    ],
)
def test_a_users_hold_is_told_from_that_of_the_submission_by_what_was_said_since(text: str, state: State):
    """What is said of a job that is waiting for capacity is said after its hold was taken over."""
    assert verdict(change(World(), admin_comment=f"k8s-bridge: {text}"))[0] is state


@pytest.mark.parametrize("text", ["Ending: preempted: …", "PastKueue: it runs on static-1", "Released: on a"])
def test_an_admins_hold_is_told_from_ours_by_what_is_said_only_of_jobs_that_we_do_not_hold(text: str):
    world = change(World(), admin_comment=f"k8s-bridge: {text}", reason="JobHeldAdmin", features=FEATURE)
    assert verdict(world)[0] is State.HELD_BY_OTHER


def test_a_waiting_job_can_be_held_by_uhold():
    world = World()
    one_pass(world)
    world.kueue_sees()
    world.scontrol_uhold()
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.HELD_BY_OTHER, ["SetText"])
    world.scontrol_release()
    assert one_pass(world)[0] is State.HELD
    assert verdict(world)[0] is State.QUEUED


def steered(world: World, *, wanted: int | None, **fields) -> list[object]:
    change(world, **fields)
    policy = replace(PARTITION, priority_sync=True, class_priority=50)
    return list(verdict(world, partition=policy, wanted_priority=wanted)[1].effects)


def test_the_priority_that_an_owner_asks_for_is_applied_and_acknowledged():
    world = World()
    one_pass(world)
    world.kueue_sees()
    world.priority = 50
    assert steered(world, wanted=None) == []
    effects = steered(world, wanted=300, comment="run 7 wm:prio=500")
    assert effects[0].patch == {"spec": {"priority": 300}}
    assert effects[1].patch == {"metadata": {"annotations": {naming.PRIORITY: "300"}}}
    assert effects[2] == Acknowledge(job_id=7, comment="run 7 wm:prio=500 wm:prio-applied=300")
    for effect in effects:
        world.carry_out(effect)
    assert steered(world, wanted=300) == []


def test_an_acknowledgement_that_does_not_fit_is_not_tried_for_ever():
    """slurmctld refuses comments of more than 1,024 bytes; what comes after that in a pass is never done."""
    world = World()
    one_pass(world)
    world.kueue_sees()
    effects = steered(world, wanted=300, comment="wm:prio=300 " + "c" * 1000)
    assert [type(effect).__name__ for effect in effects] == ["Patch", "Patch"]


def test_a_wish_that_is_taken_back_gives_the_priority_of_the_class_back():
    world = World()
    one_pass(world)
    world.kueue_sees()
    for effect in steered(world, wanted=300, comment="wm:prio=300"):
        world.carry_out(effect)
    for effect in steered(world, wanted=None, comment="wm:prio-applied=300"):
        world.carry_out(effect)
    assert (world.priority, world.job.comment) == (50, "")
    assert naming.PRIORITY not in world.jobset.metadata.annotations


def test_an_operators_priority_of_a_workload_is_left_alone():
    world = World()
    one_pass(world)
    world.kueue_sees()
    world.priority = 7000
    assert steered(world, wanted=None) == []


def test_a_released_job_shows_its_workloads_priority_in_slurm_but_never_zero():
    world = released()
    world.priority = 300
    assert steered(world, wanted=None, priority=1) == [SetPriority(job_id=7, priority=300)]
    assert steered(world, wanted=None, priority=300) == []
    world.priority = 0
    assert steered(world, wanted=None, priority=1) == []
    world.priority = 300
    assert steered(world, wanted=None, priority=0) == [], "a running job that somebody holds"


def test_priorities_are_nobodys_business_where_sync_is_off():
    world = released()
    world.priority = 300
    change(world, comment="wm:prio=9 wm:prio-applied=9", priority=1)
    assert verdict(world)[1].effects == ()


def test_a_job_out_of_turn_makes_no_object():
    state, decision = verdict(World(), may_create=False)
    assert (state, decision.effects) == (State.TURN, ())


def test_a_changed_job_is_asked_for_anew():
    world = World()
    one_pass(world)
    state, decision = verdict(world, shape="other")
    assert (state, names(decision)) == (State.RESIZED, ["Delete"])


def test_a_reused_job_id_is_another_job():
    world = World()
    one_pass(world)
    change(world, submit_time=999)
    assert verdict(world)[0] is State.REPLACED
    assert verdict(change(world, restart_count=1))[0] is not State.REPLACED


def test_a_jobset_that_is_refused_is_said_why_and_tried_again_when_the_pause_is_over():
    denial = Denial(reason="Forbidden", text="a webhook does not like it", until=NOW + 60)
    state, decision = verdict(World(), denied=denial)
    assert (state, decision.reason, decision.text) == (State.DENIED, "Forbidden", denial.text)
    assert (names(decision), decision.after) == (["SetText"], 60)
    state, decision = verdict(World(), denied=replace(denial, until=NOW))
    assert state is State.DENIED
    assert "CreateJobSet" in names(decision)


def test_a_refused_jobset_does_not_keep_a_cancelled_job_in_memory():
    denial = Denial(reason="Forbidden", text="", until=NOW + 60)
    assert verdict(change(World(), states=frozenset({"CANCELLED"})), denied=denial)[0] is State.DONE


def test_forgotten_jobs_are_drained_unless_the_guard_refuses():
    world = released()
    world.job = None
    assert verdict(world)[0] is State.DRAINING
    assert verdict(world, deletion=Deletion.REFUSED)[0] is State.GUARDED
    assert verdict(world, deletion=Deletion.REFUSED)[1].effects == ()
    assert verdict(world, presence=Presence.UNKNOWN)[1].effects == ()


def test_a_ghost_node_is_deleted():
    world = World(job=None, nodes={"slurm-job-7-w-0-9": "IDLE"})
    state, decision = verdict(world)
    assert (state, names(decision)) == (State.DRAINING, ["NodesDelete"])


def test_a_failed_jobs_jobset_is_kept_without_quota_for_as_long_as_was_asked():
    keep = replace(PARTITION, retention=3600.0)
    world = running()
    for name in list(world.pods):
        world.terminate(name)
    world.job_ends()
    state, decision = verdict(world, partition=keep)
    assert (state, names(decision)) == (State.DRAINING, ["NodesDelete", "Patch", "Patch"])
    for effect in decision.effects:
        world.carry_out(effect)
    state, decision = verdict(world, partition=keep)
    assert (state, decision.after) == (State.RETAINED, 3600.0)
    assert names(verdict(world, partition=keep, now=NOW + 3601)[1]) == ["Delete"]


def test_a_failed_job_that_is_to_run_again_does_not_wait_for_the_capacity_that_was_kept():
    world = running()
    world.job_ends()
    world = change(world, states=frozenset({"FAILED"}))
    keep = replace(PARTITION, retention=3600.0)
    for effect in verdict(world, partition=keep)[1].effects:
        world.carry_out(effect)
    world.kueue_finishes_eviction()
    assert verdict(world, partition=keep)[0] is State.RETAINED
    change(world, states=frozenset({"PENDING"}), nodes="", restart_count=1)
    assert one_pass(world)[0] is State.EVICTED
    assert one_pass(world) == (State.RESIZED, ["Delete"])
    assert one_pass(world) == (State.HELD, ["CreateJobSet"])


def test_a_job_that_got_past_kueue_says_so_and_runs_on():
    world = admitted()
    change(
        world, held=False, states=frozenset({"RUNNING"}), nodes="static-1", admin_comment=f"{TEXT_PREFIX}x"
    )
    state, decision = verdict(world)
    assert state is State.FOREIGN
    (said,) = (effect for effect in decision.effects if isinstance(effect, SetText))
    assert "runs on static-1" in said.text
    assert not {"Cancel", "NodesDown"} & set(names(decision))


def test_a_foreign_job_on_our_node_is_reported_and_the_node_drained():
    world = admitted()
    world.nodes_register()
    name = next(iter(world.nodes))
    world.nodes[name] = "ALLOCATED"
    assert verdict(world)[0] is State.TRESPASS
    assert names(verdict(world)[1]) == [], "the node row may be older than the job row"
    decision = verdict(world, seen=Seen(state=State.TRESPASS, since=NOW - 2))[1]
    assert names(decision) == ["NodesDrain", "SetText"]


@pytest.mark.parametrize(
    ("reason", "resumed"), [("k8s-bridge: another job runs here", True), ("kernel update", False)]
)
def test_when_the_other_job_is_gone_our_drain_is_taken_off_and_nobody_elses(reason: str, resumed: bool):
    world = admitted()
    world.nodes_register()
    first, second = world.unit().nodes
    drained = msgspec.structs.replace(first, states=frozenset({"IDLE", "DRAIN"}), reason=reason)
    state, decision = verdict(world, nodes=(drained, second))
    assert (state, "NodesResume" in names(decision)) == (State.ADMITTED, resumed)
    assert "NodesResume" not in names(verdict(world, nodes=(drained,))[1])


def test_nodes_that_are_not_ours_are_never_touched():
    world = running()
    other = change(world, nodes="static-[1-2]")
    assert not any(isinstance(e, NodesDown) for e in verdict(other)[1].effects)


def test_a_text_is_written_when_the_reason_changes_not_when_a_number_does():
    world = World()
    one_pass(world)
    world.kueue_sees()
    seen = Seen(state=State.QUEUED, since=NOW - 10, text_at=NOW - 10)
    first = verdict(world, seen=seen)[1].effects
    assert [type(e) for e in first] == [SetText]
    change(world, admin_comment="k8s-bridge: Pending: 3 more needed")
    assert verdict(world, seen=seen)[1].effects == ()
    assert names(verdict(world, seen=Seen(state=State.QUEUED, since=0, text_at=NOW - 61))[1]) == ["SetText"]


@pytest.mark.parametrize("state", ["CANCELLED", "COMPLETED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"])
def test_every_final_state_gives_everything_back(state):
    world = running()
    world.nodes = dict.fromkeys(world.nodes, "IDLE")
    change(world, states=frozenset({state}))
    assert verdict(world)[0] is State.DRAINING


def test_completing_is_not_over():
    world = change(running(), states=frozenset({"CANCELLED", "COMPLETING"}))
    assert verdict(world)[0] is State.COMPLETING


def test_a_busy_node_is_drained_after_a_moment_and_its_jobset_kept_until_it_is_free():
    world = running()
    change(world, states=frozenset({"CANCELLED"}))
    assert names(verdict(world)[1]) == []
    seen = Seen(state=State.DRAINING, since=NOW - 1)
    assert names(verdict(world, seen=seen)[1]) == ["NodesDrain"]


def test_a_refused_job_is_cancelled_where_the_policy_says_so():
    refusal = Refusal(option="--tmp", text="is not possible.")
    strict = replace(PARTITION, refused=RefusedJobPolicy.FAIL)
    decision = verdict(World(), layout=refusal, shape="", partition=strict)[1]
    assert isinstance(decision.effects[0], Cancel)
    assert "--tmp" in decision.effects[0].text


def test_a_job_that_must_not_be_requeued_is_told_why_before_slurm_fails_it():
    world = change(running(), requeue=False)
    world.kueue_evicts()
    decision = verdict(world)[1]
    assert names(decision) == ["SetText", "NodesDown"]
    assert "--no-requeue" in decision.effects[0].text


def dated(world: World, *, admitted_at: float, deadline: int):
    """The unit of `world` with a Workload admitted at that time and Jobs with that deadline."""
    unit = world.unit()
    conditions = tuple(
        msgspec.structs.replace(c, last_transition_time=datetime.fromtimestamp(admitted_at, UTC))
        for c in unit.workload.status.conditions
    )
    workload = msgspec.structs.replace(
        unit.workload, status=msgspec.structs.replace(unit.workload.status, conditions=conditions)
    )
    annotations = {**unit.jobset.metadata.annotations, naming.DEADLINE: str(deadline)}
    jobset = msgspec.structs.replace(
        unit.jobset, metadata=msgspec.structs.replace(unit.jobset.metadata, annotations=annotations)
    )
    return {"workload": workload, "jobset": jobset}


def test_an_extended_time_limit_moves_the_deadline_of_the_pods():
    world = change(running(), time_limit=10, start_time=int(NOW) - 100)
    assert verdict(world, **dated(world, admitted_at=NOW - 130, deadline=1000))[1].effects == ()
    change(world, time_limit=60)
    decision = verdict(world, **dated(world, admitted_at=NOW - 130, deadline=1000))[1]
    assert names(decision) == ["Patch", "Patch"]
    assert decision.effects[0].ref.kind == "Job"
    assert decision.effects[0].patch == {"spec": {"activeDeadlineSeconds": 30 + 3600 + 300}}


def test_a_limit_that_was_lifted_lifts_the_deadline():
    world = change(running(), time_limit=None, start_time=int(NOW))
    decision = verdict(world, **dated(world, admitted_at=NOW, deadline=1000))[1]
    assert decision.effects[0].patch == {"spec": {"activeDeadlineSeconds": None}}


def test_a_second_run_on_the_same_pods_gets_its_whole_time():
    world = admitted()
    world.nodes_register()
    change(world, time_limit=10)
    decision = verdict(world, **dated(world, admitted_at=NOW - 4000, deadline=1000))[1]
    assert names(decision)[:3] == ["Patch", "Patch", "PinAndRelease"]
    assert decision.effects[0].patch == {"spec": {"activeDeadlineSeconds": 4000 + 600 + 300}}


def test_a_no_requeue_job_runs_again_where_the_policy_says_so():
    world = change(running(), requeue=False)
    world.kueue_evicts()
    again = replace(PARTITION, no_requeue=NoRequeuePolicy.REQUEUE)
    decision = verdict(world, partition=again)[1]
    assert names(decision) == ["AllowRequeue", "NodesDown", "Rehold", "NodesDelete", "Patch"]


def test_a_pod_that_never_ends_is_not_waited_for_without_end():
    world = admitted()
    world.nodes_register()
    world.pod_dies(0)
    assert "Delete" not in names(verdict(world)[1])
    decision = verdict(world, seen=Seen(state=State.ADMITTED, since=NOW - 120))[1]
    assert names(decision)[0] == "Delete"
    assert decision.reason == "PodStuck"
