"""The bridge as the loop sees it, on real tables: when it decides, when it waits, what it refuses to do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from api.load import parse_workloadmixing
from api.v1alpha1 import WorkloadMixing
from api.views import Condition, JobSet, JobSetStatus, ObjectMeta, OwnerReference, Workload, WorkloadStatus
from k8s_bridge.core import naming
from k8s_bridge.core.effects import Patch
from k8s_bridge.core.errors import Retry, Terminal
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.slurm.controller import SlurmController
from k8s_bridge.slurm.effects import Acknowledge, CreateJobSet, NodesDelete, TakeHold
from k8s_bridge.slurm.facts import identity
from k8s_bridge.slurm.layout.types import Group, Layout, Shape
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.pace import Pace
from k8s_bridge.slurm.policy import Policies
from k8s_bridge.slurm.stages import Stages
from k8s_bridge.slurm.tables import make_tables
from k8s_bridge.slurm.unit import Slot, State

MIXING = parse_workloadmixing(
    yaml.safe_load(Path("tests/fixtures/workloadmixing/prototype-minimal.yaml").read_text())
)
PARTITION = MIXING.spec.partition_mappings[0].partition_name
MINE = naming.mixing_feature("ns", "wm")
LAYOUT = Layout(groups=(Group(count=1, tasks=1, shape=Shape(cpus=1, memory=100)),))


class Bridge:
    """A controller with everything around it that a test may look at or turn."""

    def __init__(self, *, limit: int = 10, mixing: WorkloadMixing = MIXING) -> None:
        self.time = 100.0
        self.done: list[object] = []
        self.fails: Exception | None = None
        self.again: list[int] = []
        self.stages: list[tuple[str, float]] = []
        self.tables = make_tables(mixing=MINE)
        policies = Policies(mixing)
        self.observer = Observer(self.tables, policies=policies, planner=lambda job, route: (LAYOUT, "s"))
        for queue in policies.limits():
            self.observer.turns.limit(queue, limit)
        self.controller = SlurmController(
            name="ns/wm",
            tables=self.tables,
            observer=self.observer,
            actor=self,
            stages=Stages(lambda stage, seconds: self.stages.append((stage.value, seconds))),
            blocked=lambda: "",
            monotonic=lambda: self.time,
            clock=lambda: self.time,
        )
        self.controller.on_again(self.again.append)

    async def act(self, effect):
        if self.fails:
            raise self.fails
        self.done.append(effect)

    def job(self, job_id: int = 1, **fields) -> Job:
        job = Job(
            **{
                "job_id": job_id,
                "partition": PARTITION,
                "states": frozenset({"PENDING"}),
                "held": True,
                "reason": "JobHeldUser",
                "submit_time": 50,
                **fields,
            }
        )
        self.tables.jobs.upsert(job)
        return job

    def jobset(
        self, job_id: int = 1, uid: str = "u", *, slot: int | None = None, parked: str = "", ended: str = ""
    ) -> None:
        number = {} if slot is None else {naming.SLURM_ARRAY_SLOT: str(slot)}
        mark = {naming.PARKED: parked} if parked else {}
        job = self.tables.jobs.get(str(job_id))
        anchor = identity(job) if job else "50.0.0"
        self.tables.jobsets.upsert(
            JobSet(
                metadata=ObjectMeta(
                    name=naming.jobset_name(job_id, slot=slot),
                    namespace=MIXING.metadata.namespace,
                    uid=uid,
                    resource_version="1",
                    labels={naming.SLURM_JOB_ID: str(job_id), **number},
                    annotations={naming.IDENTITY: anchor, naming.SHAPE: "s", **mark},
                ),
                status=JobSetStatus(terminal_state=ended),
            )
        )

    def admitted(self, *, since: float) -> None:
        when = datetime.fromtimestamp(since, UTC)
        workload = Workload(
            metadata=ObjectMeta(name="w", resource_version="1", owner_references=(OwnerReference(uid="u"),)),
            status=WorkloadStatus(
                conditions=(Condition(type="Admitted", status="True", last_transition_time=when),)
            ),
        )
        self.tables.workloads.upsert(workload)

    def gone(self, *job_ids: int, lost: int = 0) -> None:
        """Slurm says that there are no such jobs, and a whole look at it follows."""
        for job_id in job_ids:
            self.controller.missing(job_id)
        self.time += 1
        self.controller.polled(started=self.time, lost=lost)

    def state(self, job_id: int = 1) -> str | None:
        decision = self.controller.decide(job_id, self.time)
        return decision and decision.state


async def test_after_a_write_to_slurm_nothing_is_decided_until_a_later_poll_has_ended():
    bridge = Bridge()
    bridge.job()
    assert bridge.state() == State.HELD
    await bridge.controller.act(1, TakeHold(job_id=1, text=""))
    assert bridge.state() is None
    bridge.controller.polled(started=bridge.time - 1)
    assert bridge.state() is None, "that poll began before the write"
    bridge.controller.polled(started=bridge.time + 1)
    assert bridge.again == [1]
    assert bridge.state() == State.HELD


async def test_a_failed_write_may_have_worked_and_waits_as_well():
    bridge = Bridge()
    bridge.job()
    bridge.fails = Retry("no answer")
    with pytest.raises(Retry):
        await bridge.controller.act(1, TakeHold(job_id=1, text=""))
    assert bridge.state() is None


async def test_a_write_that_failed_does_not_come_back_with_every_poll():
    """Its back-off brings it back: else a refused change is tried ten times a second, for ever."""
    bridge = Bridge()
    bridge.job()
    bridge.fails = Terminal("not allowed", reason="AccessDenied")
    with pytest.raises(Terminal):
        await bridge.controller.act(1, TakeHold(job_id=1, text=""))
    bridge.controller.polled(started=bridge.time + 1)
    assert bridge.again == []
    assert bridge.state() == State.HELD


async def test_a_write_to_kubernetes_does_not_wait_for_slurm():
    bridge = Bridge()
    bridge.job()
    await bridge.controller.act(1, CreateJobSet(job_id=1, shape="s"))
    assert bridge.state() == State.HELD


def test_an_effect_is_refused_when_the_job_changed_since_it_was_decided():
    bridge = Bridge()
    bridge.job()
    decision = bridge.controller.decide(1, bridge.time)
    assert all(bridge.controller.current(1, effect) for effect in decision.effects)
    bridge.job(states=frozenset({"CANCELLED"}))
    assert not any(bridge.controller.current(1, effect) for effect in decision.effects)


def test_only_so_many_wait_for_quota_and_the_next_one_is_called_when_a_place_is_free():
    bridge = Bridge(limit=1)
    bridge.job(1)
    bridge.job(2, submit_time=60)
    assert (bridge.state(1), bridge.state(2)) == (State.HELD, State.TURN)
    bridge.jobset(1)
    assert bridge.state(1) == State.QUEUED
    assert bridge.state(2) == State.TURN
    bridge.again.clear()
    bridge.job(1, states=frozenset({"CANCELLED"}))
    assert bridge.state(1) == State.DRAINING
    assert bridge.again == [2]
    assert bridge.state(2) == State.HELD


def test_a_job_that_gave_its_quota_back_lets_others_pass_but_not_those_like_it():
    bridge = Bridge(limit=1)
    for job_id, account in ((1, "limited"), (2, "limited"), (3, "other")):
        bridge.job(job_id, account=account, submit_time=50 + job_id)
    bridge.jobset(1, parked="130 1 AssocMaxJobsLimit")
    assert [bridge.state(job_id) for job_id in (1, 2, 3)] == [State.PARKED, State.TURN, State.HELD]
    bridge.jobset(3, uid="v")
    assert [bridge.state(job_id) for job_id in (3, 2)] == [State.QUEUED, State.TURN]
    bridge.again.clear()
    for job_id in (1, 3):
        bridge.job(job_id, states=frozenset({"CANCELLED"}))
        bridge.state(job_id)
    assert bridge.again == [2]
    assert bridge.state(2) == State.HELD


def test_a_slot_that_gave_its_quota_back_lets_other_jobs_pass():
    bridge = Bridge(limit=1)
    bridge.job(1, array_job_id=1, array_size=2, account="limited")
    bridge.jobset(1, slot=0, parked="130 1 AssocMaxJobsLimit")
    assert bridge.controller.decide(Slot(1, 0), bridge.time).state == State.PARKED
    bridge.state(1)
    bridge.job(2, submit_time=60)
    assert bridge.state(2) == State.HELD


def test_a_job_whose_jobset_failed_just_now_lets_others_pass():
    bridge = Bridge(limit=1)
    bridge.job(1)
    assert bridge.state(1) == State.HELD
    bridge.jobset(1, ended="Failed")
    assert bridge.state(1) == State.FAILED
    bridge.tables.jobsets.replace(())
    assert bridge.controller.decide(1, bridge.time).after > 1, "the next JobSet waits for a while"
    bridge.job(2, submit_time=60)
    assert bridge.state(2) == State.HELD


def test_a_jobset_that_is_refused_is_remembered_until_one_is_made():
    bridge = Bridge()
    bridge.job()
    refused = Outcome(
        controller="ns/wm",
        key=1,
        result=Result.TERMINAL,
        effect="CreateJobSet",
        error=Terminal("not by this webhook", reason="Forbidden"),
    )
    bridge.controller.observe_outcome(refused)
    assert bridge.again == [1], "people are told at once"
    assert bridge.state() == State.DENIED
    assert bridge.controller.said[1].text == "not by this webhook"
    made = Outcome(controller="ns/wm", key=1, result=Result.DONE, effect="CreateJobSet")
    bridge.controller.observe_outcome(made)
    assert bridge.state() == State.HELD


def test_whoever_looks_at_a_unit_gives_it_no_turn():
    bridge = Bridge(limit=1)
    bridge.job(1, dependency="afterok:9")
    bridge.job(2)
    assert bridge.state(1) == State.INELIGIBLE
    bridge.observer.unit(1)
    assert bridge.state(2) == State.HELD


def test_many_jobs_gone_at_once_are_not_believed():
    bridge = Bridge()
    for job_id in (1, 2, 3):
        bridge.jobset(job_id, uid=f"u{job_id}")
    bridge.gone(1, 2, 3)
    assert [bridge.state(j) for j in (1, 2, 3)] == [State.GUARDED] * 3
    assert bridge.controller.guarded
    bridge.job(1)
    bridge.controller.polled(started=bridge.time)
    assert bridge.state(2) == State.DRAINING


def test_a_loss_is_decided_on_when_a_later_look_has_shown_how_many_are_gone_with_it():
    bridge = Bridge()
    for job_id in range(8):
        bridge.jobset(job_id, uid=f"u{job_id}")
    bridge.controller.missing(1)
    assert bridge.state(1) is None
    bridge.controller.polled(started=bridge.time - 1)
    assert bridge.state(1) is None, "that look began before the loss"
    bridge.gone()
    assert bridge.again[-1] == 1
    assert bridge.state(1) == State.DRAINING


def test_jobs_that_the_list_lacks_count_before_slurm_was_asked_about_each():
    bridge = Bridge()
    for job_id in range(8):
        bridge.jobset(job_id, uid=f"u{job_id}")
    bridge.gone(1, lost=7)
    assert bridge.state(1) == State.GUARDED
    bridge.gone(lost=0)
    assert bridge.state(1) == State.DRAINING


def test_a_job_that_slurm_was_not_asked_about_is_not_gone():
    bridge = Bridge()
    bridge.jobset()
    assert bridge.state() == State.UNKNOWN


def test_a_ghost_node_makes_a_unit_of_its_own():
    bridge = Bridge()
    bridge.tables.nodes.upsert(Node(name="x", features=("nodes-for-9", MINE), states=frozenset({"IDLE"})))
    assert 9 in set(bridge.controller.keys())
    assert bridge.state(9) == State.UNKNOWN
    bridge.gone(9)
    decision = bridge.controller.decide(9, bridge.time)
    assert decision.effects == (NodesDelete(nodes=("x",)),)


def test_a_node_of_another_mixing_is_no_ghost():
    bridge = Bridge()
    theirs = naming.mixing_feature("ns", "other")
    bridge.tables.nodes.upsert(Node(name="x", features=("nodes-for-9", theirs), states=frozenset({"IDLE"})))
    assert 9 not in set(bridge.controller.keys())
    bridge.gone(9)
    decision = bridge.controller.decide(9, bridge.time)
    assert decision.effects == ()


def test_pickup_is_measured_from_first_sight_to_the_jobset():
    bridge = Bridge()
    bridge.job()
    bridge.state()
    bridge.time += 0.25
    bridge.controller.observe_outcome(
        Outcome(controller="ns/wm", key=1, result=Result.DONE, effect="CreateJobSet")
    )
    assert bridge.stages == [("pickup", 0.25)]


def test_what_is_over_is_forgotten():
    bridge = Bridge()
    bridge.job()
    bridge.state()
    assert 1 in bridge.controller.said
    bridge.job(states=frozenset({"COMPLETED"}))
    assert bridge.state() == State.DONE
    assert 1 not in bridge.controller.said
    assert not bridge.controller.census.groups()


def test_slurm_is_watched_closely_from_the_moment_a_unit_begins_to_move():
    bridge, moved = Bridge(), []
    bridge.controller.on_moving(lambda: moved.append(bridge.controller.pace))
    bridge.job()
    bridge.state()
    assert (moved, bridge.controller.pace) == ([], Pace.IDLE)
    bridge.job(states=frozenset({"CANCELLED"}))
    bridge.jobset()
    assert bridge.state() == State.DRAINING
    assert moved == [Pace.MOVING]
    bridge.state()
    assert len(moved) == 1, "it moves already"


def test_a_refused_jobset_is_tried_again_soon_at_first_and_then_every_minute():
    """An API server that has just started forbids everything for a second or two."""
    bridge = Bridge()
    bridge.job()
    pauses = []
    for _ in range(8):
        bridge.observer.denied(1, "Forbidden", "no", now=bridge.time)
        decision = bridge.controller.decide(1, bridge.time)
        assert decision is not None
        assert decision.state == State.DENIED
        pauses.append(decision.after)
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_a_timeout_counts_from_the_entry_into_the_state_and_a_restart_reads_it_off_the_cluster():
    bridge = Bridge()
    bridge.job()
    bridge.jobset()
    bridge.admitted(since=10)
    assert bridge.state() == State.ADMITTED
    assert bridge.observer.seen[1].since == 10, "after a restart the Workload tells since when"
    bridge.job(reason="BadConstraints", features="nodes-for-1")
    assert bridge.state() == State.LOST
    bridge.time = 500
    bridge.job()
    assert bridge.state() == State.ADMITTED
    assert bridge.observer.seen[1].since == 500, "a job that lost a pod waits for the new one from now on"


def test_jobs_that_were_over_when_slurm_purged_them_are_given_back_however_many_they_are():
    bridge = Bridge()
    for job_id in (1, 2, 3):
        bridge.jobset(job_id, uid=f"u{job_id}")
        bridge.controller.missing(job_id, Job(job_id=job_id, states=frozenset({"COMPLETED"})))
    bridge.controller.polled(started=bridge.time)
    assert not bridge.controller.guarded
    assert [bridge.state(j) for j in (1, 2, 3)] == [State.DRAINING] * 3


def test_a_job_that_was_over_is_given_back_while_others_are_guarded():
    bridge = Bridge()
    for job_id in (1, 2, 3, 4):
        bridge.jobset(job_id, uid=f"u{job_id}")
    bridge.controller.missing(1, Job(job_id=1, states=frozenset({"COMPLETED"})))
    for job_id in (2, 3, 4):
        bridge.controller.missing(job_id, Job(job_id=job_id, states=frozenset({"RUNNING"})))
    bridge.gone()
    assert bridge.state(2) == State.GUARDED
    assert bridge.state(1) == State.DRAINING


def test_a_start_counts_when_it_is_first_seen():
    bridge = Bridge()
    bridge.job(states=frozenset({"RUNNING"}), features="nodes-for-1")
    bridge.jobset()
    bridge.admitted(since=10)
    assert bridge.state() == State.RUNNING
    bridge.time = 160.0
    assert bridge.state() == State.RUNNING
    assert bridge.controller.last_start == 100.0


def test_a_running_array_is_followed_while_tasks_of_it_wait():
    """That somebody held them shows in the array's own record only."""
    bridge = Bridge()
    own = {"array_job_id": 1, "held": False, "features": "nodes-for-1", "admin_comment": "k8s-bridge: x"}
    bridge.job(1, array_task_string="1-9", array_size=9, **own)
    bridge.job(2, array_task_id=0, states=frozenset({"RUNNING"}), **own)
    slot = (naming.slot_feature(1, 0), MINE)
    bridge.tables.nodes.upsert(Node(name="n", features=slot, states=frozenset({"ALLOCATED"})))
    assert bridge.state() == State.RUNNING
    assert bridge.controller.followed() == {1}
    bridge.job(2, array_task_id=0, states=frozenset({"COMPLETED"}), **own)
    bridge.job(1, array_task_id=9, states=frozenset({"RUNNING"}), **own)
    assert bridge.state() == State.RUNNING
    assert bridge.controller.followed() == set()


def test_the_priority_that_an_array_asks_for_is_that_of_its_slots():
    spec = MIXING.spec.model_copy(update={"enable_priority_sync": True})
    bridge = Bridge(mixing=MIXING.model_copy(update={"spec": spec}))
    bridge.job(array_job_id=1, array_task_string="0-9", array_size=10, comment="wm:prio=500")
    bridge.jobset(slot=0)
    bridge.admitted(since=90)
    decision = bridge.controller.decide(Slot(1, 0), bridge.time)
    assert decision
    patched = [effect.patch for effect in decision.effects if isinstance(effect, Patch)]
    assert {"spec": {"priority": 500}} in patched
    assert Acknowledge(job_id=1, comment="wm:prio=500 wm:prio-applied=500") in decision.effects
