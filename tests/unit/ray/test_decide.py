"""What becomes of a job in each stage: the state that people see, and what is done."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench import ray_units as make
from bench.ray_units import NOW
from k8s_bridge.core.effects import Delete, Event, Patch
from k8s_bridge.ray import names
from k8s_bridge.ray.decide import decide
from k8s_bridge.ray.effects import LetPass, Release, StopSubmission
from k8s_bridge.ray.unit import Denial, Policy, Requeue, State, Unit


def verdict(unit: Unit):
    return decide(unit, now=NOW)


def done(unit: Unit) -> list[str]:
    """What is done, as words; events and the annotations for people aside."""
    return [_word(effect) for effect in verdict(unit).effects if _word(effect) != "told"]


def _word(effect) -> str:
    match effect:
        case Event():
            return "told"
        case Delete(ref=ref):
            return f"delete {ref.kind}"
        case Patch(subresource="status", patch=patch):
            return f"status {patch['status']['jobDeploymentStatus']}"
        case Patch(patch=patch):
            notes = patch["metadata"]["annotations"]
            return (
                "told" if names.STATE in notes else "note " + " ".join(sorted(k.split("/")[1] for k in notes))
            )
        case _:
            return type(effect).__name__


LIFE = {
    "nothing was asked for": (make.unit(), State.HELD, ["CreateWorkers"]),
    "waits for quota": (make.waiting(), State.QUEUED, []),
    "workers on their way": (
        make.admitted(workers=(make.worker("w-0"), make.worker("w-1", ready=False))),
        State.ADMITTED,
        [],
    ),
    "all have joined": (make.admitted(), State.READY, ["note released", "Release"]),
    "all have joined, but KubeRay has made no submitter": (make.admitted(submitters=()), State.ADMITTED, []),
    "all have joined, and the submitter is an old one": (
        make.admitted(submitters=(make.submitter(submission="job-0"),)),
        State.ADMITTED,
        [],
    ),
    "the note is written, the gate still there": (
        make.let_go(submitters=(make.submitter(),)),
        State.READY,
        ["Release"],
    ),
    "let go": (make.let_go(), State.RELEASED, []),
    "runs": (make.let_go(status={"jobStatus": "RUNNING"}), State.RUNNING, []),
    "runs while a worker is replaced": (
        make.let_go(status={"jobStatus": "RUNNING"}, workers=(make.worker("w-0"),)),
        State.RUNNING,
        [],
    ),
    "succeeded, KubeRay not sure yet": (make.let_go(status={"jobStatus": "SUCCEEDED"}), State.FINISHED, []),
    "succeeded": (
        make.let_go(status={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"}),
        State.FINISHED,
        ["delete JobSet"],
    ),
    "failed by itself": (
        make.let_go(status={"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}),
        State.FINISHED,
        ["delete JobSet"],
    ),
    "over and given back": (
        make.unit(job=make.job(status={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"})),
        State.DONE,
        [],
    ),
    "deleted with its workers still there": (make.admitted(job=None), State.DRAINING, ["delete JobSet"]),
    "deleted": (make.unit(job=None), State.DONE, []),
}


@pytest.mark.parametrize("stage", LIFE)
def test_the_life_of_a_job(stage):
    unit, state, effects = LIFE[stage]

    assert verdict(unit).state == state
    assert done(unit) == effects


EVICTED = {"workload": make.workload(admitted=make.EARLY, evicted=True)}
AGAIN = {
    "preempted while it runs": (make.let_go(status={"jobStatus": "RUNNING"}, **EVICTED), State.EVICTED),
    "failed because it was preempted": (
        make.let_go(status={"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}, **EVICTED),
        State.EVICTED,
    ),
    "preempted and admitted again while nobody looked": (
        make.let_go(status={"jobStatus": "FAILED"}, workload=make.workload(admitted=make.LATE)),
        State.EVICTED,
    ),
    "its Workload was deleted and made anew": (
        make.let_go(
            status={"jobStatus": "RUNNING"}, workload=make.workload(admitted=make.EARLY, uid="other")
        ),
        State.EVICTED,
    ),
    "its JobSet was deleted": (
        make.let_go(status={"jobStatus": "RUNNING"}, jobset=None, workload=None, workers=()),
        State.EVICTED,
    ),
    "failed with a worker missing": (
        make.let_go(status={"jobStatus": "FAILED"}, workers=(make.worker("w-0"),)),
        State.LOST,
    ),
    "failed after a worker was replaced": (
        make.let_go(
            status={"jobStatus": "FAILED"}, workers=(make.worker("w-0"), make.worker("w-2", made=make.LATE))
        ),
        State.LOST,
    ),
}


@pytest.mark.parametrize("case", AGAIN)
def test_a_job_that_lost_what_it_ran_on_is_noted_to_run_again(case):
    unit, state = AGAIN[case]

    assert verdict(unit).state == state
    assert done(unit) == ["note requeues requeuing"]


def test_a_job_that_succeeded_while_it_was_preempted_is_left_alone():
    unit = make.let_go(status={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"}, **EVICTED)

    assert verdict(unit).state == State.FINISHED
    assert done(unit) == ["delete JobSet"]


@pytest.mark.parametrize(
    "told", [{"seen": make.seen(State.FINISHED, seconds=1)}, {"notes": {"state": "Finished"}}]
)
def test_workers_that_go_after_the_end_was_seen_are_given_back_not_lost(told):
    failed = {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}
    unit = make.let_go(status=failed, workers=(make.worker("w-0"),), **told)

    assert verdict(unit).state == State.FINISHED
    assert "note requeues requeuing" not in done(unit)


def requeuing(**more) -> Unit:
    notes = {"requeuing": "job-1", "requeues": "1"}
    return make.let_go(notes=notes, **(EVICTED | {"status": {"jobStatus": "RUNNING"}} | more))


def test_what_is_given_up_is_stopped_in_ray_before_kuberay_submits_anew():
    stopped = requeuing(status={"jobStatus": "STOPPED", "jobDeploymentStatus": "Complete"})

    assert verdict(requeuing()).state == verdict(stopped).state == State.REQUEUING
    assert done(requeuing()) == done(stopped) == ["StopSubmission", "status Retrying"]


def test_kuberay_is_told_once_that_a_job_is_to_be_submitted_anew():
    told = requeuing(status={"jobStatus": "RUNNING", "jobDeploymentStatus": "Retrying"})

    assert verdict(told).state == State.REQUEUING
    assert done(told) == []


def test_a_submitter_on_its_way_to_ray_ends_before_its_submission_is_given_up():
    assert done(requeuing(status={})) == ["delete Pod"]


def test_the_next_submission_waits_for_capacity_like_the_first():
    notes = {"released": make.RELEASED, "requeuing": "job-1", "requeues": "1"}
    anew = make.job(notes=notes, status={"jobId": "job-2"})
    held = (make.submitter(submission="job-2"),)

    assert verdict(make.waiting(job=anew, submitters=held)).state == State.QUEUED
    (release,) = [
        effect
        for effect in verdict(make.admitted(job=anew, submitters=held)).effects
        if isinstance(effect, Release)
    ]
    assert release.attempt == 2


@pytest.mark.parametrize(
    ("notes", "policy"),
    [({"requeues": "3"}, Policy()), ({"requeues": "0"}, Policy(requeue=Requeue.IMPOSSIBLE))],
    ids=["as often as it may", "a KubeRay that would delete the shared cluster"],
)
def test_a_job_that_may_not_run_again_is_stopped_and_gives_everything_back(notes, policy):
    unit = make.let_go(notes=notes, status={"jobStatus": "RUNNING"}, policy=policy, **EVICTED)

    assert verdict(unit).state == State.SPENT
    assert done(unit) == ["StopSubmission", "delete JobSet"]


def test_the_owner_may_ask_for_fewer_runs():
    once = make.let_go(notes={"max-requeues": "0"}, status={"jobStatus": "RUNNING"}, **EVICTED)

    assert verdict(once).state == State.SPENT


@pytest.mark.parametrize(
    "unit",
    [
        make.unit(cluster=None),
        make.unit(cluster=make.cluster(up=False)),
        make.unit(cluster=make.cluster(suspend=True)),
    ],
    ids=["missing", "no head", "suspended"],
)
def test_no_quota_is_asked_for_while_the_shared_cluster_is_away(unit):
    assert verdict(unit).state == State.CLUSTER
    assert done(unit) == []


def test_quota_goes_back_when_the_shared_cluster_stays_away():
    away = {"cluster": make.cluster(up=False)}

    assert done(make.waiting(**away, seen=make.seen(State.CLUSTER, seconds=5))) == []
    assert done(make.waiting(**away, seen=make.seen(State.CLUSTER, seconds=40))) == ["delete JobSet"]


def test_workers_that_fail_are_made_again_as_often_as_they_may():
    failed = make.admitted(jobset=make.jobset(ended="Failed"))
    last = make.admitted(job=make.job(notes={"worker-retries": "3"}), jobset=make.jobset(ended="Failed"))
    given_up = make.admitted(job=make.job(notes={"worker-retries": "exhausted"}))

    assert done(failed) == ["note worker-retries", "delete JobSet"]
    (note,) = [effect for effect in verdict(last).effects if _word(effect) == "note worker-retries"]
    assert note.patch["metadata"]["annotations"][names.WORKER_RETRIES] == "exhausted"
    assert verdict(given_up).state == State.EXHAUSTED
    assert done(given_up) == ["delete JobSet"]


def test_workers_that_never_join_are_not_waited_for_without_end():
    late = make.admitted(workers=(make.worker("w-0"),), seen=make.seen(State.ADMITTED, seconds=901))

    assert verdict(late).reason == "WorkerJobSetFailed"
    assert done(late) == ["note worker-retries", "delete JobSet"]


def test_a_job_whose_workers_ray_does_not_count_says_what_it_waits_for():
    """As where headAddress leads to another cluster, or nobody lets the bridge reach the head."""
    at_once, stuck = (make.admitted(seen=make.seen(State.READY, seconds=age)) for age in (0, 5))

    assert _told(at_once) == []
    (told,) = _told(stuck)
    assert told.patch["metadata"]["annotations"][names.MESSAGE] == (
        "Released: 2 of 2 workers are up; it is let go when Ray counts all of them, too"
    )
    assert "Release" in done(stuck)


def _told(unit: Unit) -> list[Patch]:
    return [one for one in verdict(unit).effects if isinstance(one, Patch) and _word(one) == "told"]


def test_what_was_asked_for_and_is_not_right_any_more_is_asked_for_anew():
    other = make.waiting(jobset=make.jobset(shape="another"))

    assert verdict(other).state == State.RESIZED
    assert done(other) == ["delete JobSet"]


def test_workers_of_a_running_job_stay_whatever_the_configuration_says():
    running = make.let_go(status={"jobStatus": "RUNNING"}, jobset=make.jobset(shape="another"))

    assert verdict(running).state == State.RUNNING


def test_a_refused_job_is_told_why_and_costs_no_quota():
    refused = make.waiting(job=make.job(notes={"workers": "many"}))

    assert verdict(refused).state == State.REFUSED
    assert verdict(refused).reason == "InvalidSpec"
    assert done(refused) == ["delete JobSet"]
    assert any(isinstance(effect, Event) for effect in verdict(refused).effects)


def test_a_job_that_kuberay_ends_by_itself_is_stopped_in_ray_as_well():
    late = {"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"}
    assert done(make.let_go(status=late | {"jobStatus": "RUNNING"})) == ["StopSubmission", "delete JobSet"]
    assert done(make.let_go(status=late | {"jobStatus": "FAILED"})) == ["delete JobSet"]


@pytest.mark.parametrize("cluster", [None, make.cluster(suspend=True)], ids=["gone", "suspended"])
def test_a_running_job_gives_its_quota_back_when_its_cluster_stays_away(cluster):
    running = {"status": {"jobStatus": "RUNNING"}, "cluster": cluster}

    assert done(make.let_go(**running, seen=make.seen(State.CLUSTER, seconds=1))) == []
    assert done(make.let_go(**running, seen=make.seen(State.CLUSTER, seconds=31))) == ["delete JobSet"]
    gone = make.let_go(**running, jobset=None, workload=None, workers=())
    assert verdict(gone).state == State.EVICTED


def test_a_running_job_keeps_its_workers_while_the_head_restarts():
    assert (
        verdict(make.let_go(status={"jobStatus": "RUNNING"}, cluster=make.cluster(up=False))).state
        == State.RUNNING
    )


@pytest.mark.parametrize(
    "unit",
    [
        make.unit(managed=False),
        make.unit(job=make.job(clusterSelector={})),
    ],
    ids=["another cluster", "a cluster of its own"],
)
def test_a_job_that_is_not_ours_is_held_by_nothing_of_ours(unit):
    assert verdict(unit).state == State.FOREIGN
    assert done(unit) == ["LetPass"]


def test_what_a_person_submits_is_held_by_nothing_and_told():
    unit = make.unit(job=make.job(submissionMode="InteractiveMode"))
    assert verdict(unit).state == State.INTERACTIVE
    (told,) = [effect for effect in verdict(unit).effects if isinstance(effect, Event)]
    assert (told.type, told.reason) == ("Warning", "InteractiveMode")
    assert verdict(make.unit(managed=False, job=unit.job)).state == State.FOREIGN


def test_a_job_that_another_workloadmixing_serves_is_not_let_go():
    other = make.unit(managed=False, request=None, elsewhere="ray/older")

    running = make.let_go(
        status={"jobStatus": "RUNNING"},
        managed=False,
        request=None,
        elsewhere="ray/older",
        jobset=None,
        workload=None,
        workers=(),
    )

    assert verdict(other).state == verdict(running).state == State.FOREIGN
    assert done(other) == done(running) == []


def test_a_running_job_keeps_its_workers_when_its_cluster_is_managed_no_more():
    running = make.let_go(status={"jobStatus": "RUNNING"}, managed=False, request=None)

    assert verdict(running).state == State.RUNNING
    assert done(running) == []


@pytest.mark.parametrize(
    "unit",
    [
        make.unit(submitters=(make.submitter(gates=()),)),
        make.unit(submitters=(), job=make.job(status={"jobStatus": "RUNNING"})),
    ],
    ids=["its submitter has no gate", "Ray runs it"],
)
def test_a_job_that_came_past_the_policies_is_told_of(unit):
    assert verdict(unit).state == State.BYPASSED
    assert done(unit) == []
    (event,) = [effect for effect in verdict(unit).effects if isinstance(effect, Event)]
    assert event.reason == "Bypassed"


def test_a_jobset_that_was_refused_is_tried_again_later():
    denial = Denial(reason="Forbidden", text="no", until=NOW + 5)

    assert done(make.unit(denied=denial)) == []
    assert verdict(make.unit(denied=denial)).after is not None
    assert done(make.unit(denied=Denial(reason="Forbidden", text="no", until=NOW))) == ["CreateWorkers"]


def test_a_finished_job_goes_when_its_time_is_up():
    end = datetime.fromtimestamp(NOW - 100, UTC).isoformat()
    over = make.job(status={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "endTime": end})

    assert done(make.unit(job=over)) == []
    assert done(make.unit(job=over, policy=Policy(ttl=101))) == []
    assert done(make.unit(job=over, policy=Policy(ttl=99))) == ["delete RayJob"]


def test_a_short_wait_costs_no_write_and_a_long_one_is_told_once():
    short, long = (make.waiting(seen=make.seen(State.QUEUED, seconds=s)) for s in (0.5, 5))
    told = {"state": "Queued", "message": "Pending: whatever"}
    again = make.waiting(seen=make.seen(State.QUEUED, seconds=9), job=make.job(notes=told))

    assert verdict(short).effects == ()
    assert [_word(effect) for effect in verdict(long).effects] == ["told"]
    assert verdict(again).effects == ()


def test_every_effect_is_wanted_again_until_it_is_seen():
    assert verdict(requeuing()).effects == verdict(requeuing()).effects
    assert isinstance(verdict(requeuing()).effects[0], StopSubmission)
    assert isinstance(verdict(make.unit(managed=False)).effects[0], LetPass)
