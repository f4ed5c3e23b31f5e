from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from k8s_bridge.sandbox.world.invariants import EVICTION_GRACE, check
from k8s_bridge.sandbox.world.slurm import JobFact, NodeFact, Start
from k8s_bridge.sandbox.world.timeline import PlainJob, Span, Timeline

ADMITTED = "no job runs before its Workload is admitted"
OWN = "no job runs on another's nodes"
ONE_JOBSET = "never two JobSets for one job"
QUOTA = "never more reserved than there is quota"
USAGE = "queue usage is back to zero"
GHOSTS = "no ghost nodes in Slurm"
EXPLAINED = "every job ends in a state that is explained"


def good() -> Timeline:
    """Two jobs, one after the other; job 1 was preempted once."""
    return Timeline(
        begun=0.0,
        admissions=[
            Span(name="w1", uid="w1", begun=10.0, ended=20.0, job_id=1),
            Span(name="w1", uid="w1", begun=30.0, ended=40.0, job_id=1),
            Span(name="w2", uid="w2", begun=21.0, ended=29.0, job_id=2),
        ],
        jobsets=[
            Span(name="slurm-job-1", uid="j1", begun=1.0, ended=41.0, job_id=1),
            Span(name="slurm-job-2", uid="j2", begun=2.0, ended=30.0, job_id=2),
        ],
        pods=[
            Span(name="p1", uid="1", begun=10.0, ended=20.5, job_id=1),
            Span(name="p2", uid="2", begun=21.0, ended=29.0, job_id=2),
            Span(name="p3", uid="3", begun=30.0, ended=40.0, job_id=1),
        ],
        starts=[
            Start(job_id=1, nodes=("p1",), at=12.0),
            Start(job_id=2, nodes=("p2",), at=22.0),
            Start(job_id=1, nodes=("p3",), at=31.0),
        ],
        jobs={
            1: JobFact(job_id=1, state="COMPLETED", reason="None", restarts=1),
            2: JobFact(job_id=2, state="FAILED", reason="NonZeroExitCode"),
        },
        plain_jobs=[PlainJob(name="k", state="Complete")],
        usage={"shared": {"cpu": 0}},
        quota={"shared": {"cpu": 4000}},
        peak={"cpu": 4000},
    )


def started_early(time: Timeline) -> None:
    time.starts.append(Start(job_id=2, nodes=("p2",), at=20.99))


def started_in_between(time: Timeline) -> None:
    """Long after the eviction, on a pod that is still there."""
    time.pods[0].ended = None
    time.starts.append(Start(job_id=1, nodes=("p1",), at=20.0 + EVICTION_GRACE + 0.1))


def started_without_any_pod(time: Timeline) -> None:
    time.starts.append(Start(job_id=3, nodes=("somewhere",), at=12.0))


def ran_on_foreign_node(time: Timeline) -> None:
    time.starts[1] = replace(time.starts[1], nodes=("p3",))


def two_jobsets(time: Timeline) -> None:
    time.jobsets.append(Span(name="slurm-job-x-1", uid="j3", begun=40.5, job_id=1))


def beyond_quota(time: Timeline) -> None:
    time.peak = {"cpu": 4001}


def usage_left(time: Timeline) -> None:
    time.usage = {"shared": {"cpu": 1000}}


def ghost(time: Timeline) -> None:
    time.nodes = {"p1": NodeFact(name="p1", features=frozenset({"nodes-for-1"}))}


def silent_failure(time: Timeline) -> None:
    time.jobs = {1: JobFact(job_id=1, state="FAILED", reason="None")}


def silent_wait(time: Timeline) -> None:
    time.jobs = {1: JobFact(job_id=1, state="PENDING", reason="")}


def stuck_completing(time: Timeline) -> None:
    time.jobs = {1: JobFact(job_id=1, state="COMPLETED", completing=True)}


def silent_kubernetes_job(time: Timeline) -> None:
    time.plain_jobs = [PlainJob(name="k", state="Queued")]


def test_a_good_world_holds_in_every_respect_and_says_what_was_looked_at():
    verdicts = check(good())

    assert [v.name for v in verdicts if not v.holds] == []
    assert all(v.evidence for v in verdicts)
    assert [v.name for v in verdicts] == [ADMITTED, OWN, ONE_JOBSET, QUOTA, USAGE, GHOSTS, EXPLAINED]


@pytest.mark.parametrize(
    ("spoil", "broken", "evidence"),
    [
        (started_early, {ADMITTED}, "job 2 started on p2"),
        (started_in_between, {ADMITTED}, "job 1 started on p1"),
        (started_without_any_pod, {ADMITTED, OWN}, "job 3"),
        (ran_on_foreign_node, {OWN}, "job 2 ran on p3, which is job 1's"),
        (two_jobsets, {ONE_JOBSET}, "job 1 had slurm-job-1 (j1) and slurm-job-x-1 (j3)"),
        (beyond_quota, {QUOTA}, "4001m cpu reserved of 4"),
        (usage_left, {USAGE}, "shared still uses 1 cpu"),
        (ghost, {GHOSTS}, "node p1 has no pod"),
        (silent_failure, {EXPLAINED}, "job 1 is FAILED"),
        (silent_wait, {EXPLAINED}, "job 1 is PENDING"),
        (stuck_completing, {EXPLAINED}, "COMPLETING"),
        (silent_kubernetes_job, {EXPLAINED}, "Job k is Queued"),
    ],
)
def test_each_violation_is_found_and_named(
    spoil: Callable[[Timeline], None], broken: set[str], evidence: str
):
    time = good()
    spoil(time)

    verdicts = {v.name: v for v in check(time)}

    assert {name for name, verdict in verdicts.items() if not verdict.holds} == broken
    assert all(evidence in verdicts[name].evidence for name in broken)


def test_a_start_within_the_grace_of_an_eviction_is_no_violation():
    time = good()
    time.starts.append(Start(job_id=1, nodes=("p1",), at=20.0 + EVICTION_GRACE / 2))

    assert all(v.holds for v in check(time))


def test_a_start_on_pods_that_have_ended_cannot_have_run_anything():
    time = good()
    time.starts.append(Start(job_id=1, nodes=("p1",), at=28.0))

    assert all(v.holds for v in check(time))


def test_waiting_jobs_with_a_text_are_explained():
    time = good()
    time.jobs = {1: JobFact(job_id=1, state="PENDING", reason="None", text="k8s-bridge: Queued: no quota")}

    assert all(v.holds for v in check(time))


def test_many_violations_are_summed_up():
    time = good()
    time.jobs = {n: JobFact(job_id=n, state="FAILED") for n in range(1, 9)}

    (verdict,) = [v for v in check(time) if v.name == EXPLAINED]

    assert verdict.evidence.endswith("and 5 more")
