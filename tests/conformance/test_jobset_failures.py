"""How JobSets end that do not succeed: by their pods, their policy, or their deadline."""

from __future__ import annotations

import asyncio

from conformance.cluster import Cluster

FAILED_JOBS = "jobset failed due to one or more job failures (first failed job: a-w-0)"
MAX_RESTARTS = "jobset failed due to reaching max number of restarts (first failed job: a-w-0)"
_ENDED = ("Suspended", "created", "suspend")


def _failed(reason: str, why: str) -> list[str]:
    return [f"Failed=True {reason}: {why}", "terminalState=Failed"]


async def test_a_failed_pod_fails_its_job_its_jobset_and_its_workload(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", command="sleep 1; exit 3"))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("pod/a-w-0-0")[-2:] == ["main terminated Error 3", "phase=Failed"]
    assert cluster.story("job/a-w-0", since="FailureTarget") == [
        "FailureTarget=True BackoffLimitExceeded: Job has reached the specified backoff limit",
        "Failed=True BackoffLimitExceeded: Job has reached the specified backoff limit",
        "failed=1",
    ]
    assert cluster.story("jobset/a", leave_out=_ENDED) == _failed("FailedJobs", FAILED_JOBS)
    assert cluster.story("workload/a")[-1] == f"Finished=True Failed: {FAILED_JOBS}"


async def test_with_a_failure_policy_the_reason_is_the_number_of_restarts(cluster: Cluster):
    await cluster.furnish()
    spec = {"failurePolicy": {"maxRestarts": 0}}
    await cluster.create(cluster.make.jobset("a", command="sleep 1; exit 3", spec=spec))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("jobset/a", leave_out=_ENDED) == _failed("ReachedMaxRestarts", MAX_RESTARTS)
    assert cluster.story("workload/a")[-1] == f"Finished=True Failed: {MAX_RESTARTS}"


async def test_a_restarted_jobset_makes_its_jobs_anew_and_stays_admitted(cluster: Cluster):
    await cluster.furnish()
    spec = {"failurePolicy": {"maxRestarts": 1}}
    await cluster.create(cluster.make.jobset("a", command="sleep 1; exit 3", spec=spec))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("jobset/a", leave_out=_ENDED) == [
        "restarts=1",
        *_failed("ReachedMaxRestarts", MAX_RESTARTS),
    ]
    assert cluster.story("job/a-w-0")[-2:] == ["deleting", "gone"]
    assert "suspend=True" not in cluster.story("job/a-w-0#2")
    assert cluster.story("pod/a-w-0-0#2")[-2:] == ["main terminated Error 3", "phase=Failed"]
    assert cluster.story("workload/a", since="admission=cq") == [
        "admission=cq",
        f"Finished=True Failed: {MAX_RESTARTS}",
    ]


async def test_a_rule_can_fail_the_jobset_at_once(cluster: Cluster):
    await cluster.furnish()
    rules = [{"name": "stop", "action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}]
    spec = {"failurePolicy": {"maxRestarts": 5, "rules": rules}}
    await cluster.create(cluster.make.jobset("a", command="sleep 1; exit 3", spec=spec))
    await cluster.sees("workload/a", "Finished=True")

    why = "applying FailJobSet failure policy action (first failed job: a-w-0)"
    assert cluster.story("jobset/a", leave_out=_ENDED) == _failed("FailJobSetFailurePolicyAction", why)


async def test_a_job_that_is_over_its_deadline_counts_its_pods_as_failed(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", job={"activeDeadlineSeconds": 3}))
    await cluster.sees("workload/a", "Finished=True")
    await cluster.sees("pod/a-w-0-0", "gone")

    assert cluster.story("job/a-w-0", since="FailureTarget", leave_out=("failed",)) == [
        "FailureTarget=True DeadlineExceeded: Job was active longer than specified deadline",
        "Failed=True DeadlineExceeded: Job was active longer than specified deadline",
    ]
    assert (await cluster.get("job/a-w-0"))["status"]["failed"] == 1
    assert cluster.story("jobset/a", leave_out=_ENDED) == _failed("FailedJobs", FAILED_JOBS)
    assert cluster.story("workload/a")[-1] == f"Finished=True Failed: {FAILED_JOBS}"


async def test_an_eviction_sets_the_deadline_back(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", job={"activeDeadlineSeconds": 600})
    first = (await cluster.get("job/a-w-0"))["status"]["startTime"]
    await cluster.patch("workload/a", {"spec": {"active": False}})
    await cluster.sees("pod/a-w-0-0", "gone")
    await asyncio.sleep(1.1)  # times are whole seconds
    await cluster.patch("workload/a", {"spec": {"active": True}})
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")

    assert (await cluster.get("job/a-w-0"))["status"]["startTime"] > first


async def test_a_pod_is_replaced_as_long_as_the_backoff_limit_allows(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", command="sleep 1; exit 3", job={"backoffLimit": 1}))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("job/a-w-0", since="failed") == [
        "failed=1",
        "FailureTarget=True BackoffLimitExceeded: Job has reached the specified backoff limit",
        "Failed=True BackoffLimitExceeded: Job has reached the specified backoff limit",
        "failed=2",
    ]
    assert cluster.story("pod/a-w-0-0#2")[-1] == "phase=Failed"


async def test_one_failed_job_fails_the_jobset_and_ends_the_others(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "2"})
    jobset = cluster.make.jobset("a", command="sleep 1; exit 3")
    other = cluster.make.jobset("a")["spec"]["replicatedJobs"][0]
    jobset["spec"]["replicatedJobs"].append(other | {"name": "v"})
    await cluster.create(jobset)
    await cluster.sees("workload/a", "Finished=True")
    await cluster.sees("job/a-v-0", "gone")
    await cluster.sees("pod/a-v-0-0", "gone")

    assert cluster.story("jobset/a", leave_out=_ENDED) == _failed("FailedJobs", FAILED_JOBS)
    assert cluster.story("job/a-v-0")[-2:] == ["deleting", "gone"]


async def test_one_failed_pod_fails_the_job_and_ends_its_other_pods(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "2"})
    await cluster.run("a", pods=2)
    await cluster.sees("pod/a-w-0-1", "phase=Running")
    await cluster.delete("pod/a-w-0-1")
    await cluster.sees("workload/a", "Finished=True")
    await cluster.sees("pod/a-w-0-0", "gone")

    assert cluster.story("job/a-w-0", since="FailureTarget", leave_out=("failed",)) == [
        "FailureTarget=True BackoffLimitExceeded: Job has reached the specified backoff limit",
        "Failed=True BackoffLimitExceeded: Job has reached the specified backoff limit",
    ]
    assert (await cluster.get("job/a-w-0"))["status"]["failed"] == 2


async def test_a_job_deleted_by_hand_is_made_again(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.delete("job/a-w-0", propagationPolicy="Background")
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")

    assert cluster.story("job/a-w-0#2") == ["created"]
    assert cluster.story("workload/a")[-1] == "admission=cq"
