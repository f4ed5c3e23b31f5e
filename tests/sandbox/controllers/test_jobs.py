"""What becomes of Jobs and JobSets when their pods end, are deleted, or lose their node."""

from __future__ import annotations

from typing import Any

import pytest
from sandbox.controllers.make import Lab, in_lab, jobset

from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.controllers import conditions

IGNORE_DISRUPTION = {
    "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
}
FAIL_AT_ONCE = {"failurePolicy": {"maxRestarts": 3, "rules": [{"action": "FailJobSet"}]}}
SHORT_TOLERATION = {
    "tolerations": [
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 5,
        }
    ]
}


def delete_pod(lab: Lab, name: str) -> str:
    pod = lab.pods(name)[0]["metadata"]
    lab.storage.delete(kinds.PODS, "default", pod["name"])
    return str(pod["uid"])


def test_pod_killed_by_a_signal_is_replaced_after_the_back_off():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a"))
        await lab.sleep(5)
        old = delete_pod(lab, "a")
        await lab.sleep(10)
        assert [p["metadata"]["uid"] for p in lab.pods("a")] in ([], [old])

        await lab.sleep(5)
        (new,) = lab.pods("a")
        assert new["metadata"]["uid"] != old
        assert new["status"]["phase"] == "Running"
        assert lab.job("a")["status"]["failed"] == 1

    in_lab(test)


def test_pod_that_exits_zero_counts_as_done_and_is_never_replaced():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", pods=2, command="trap 'exit 0' TERM; while :; do sleep 0.2; done"))
        await lab.sleep(5)
        delete_pod(lab, "a")
        await lab.sleep(120)

        assert len(lab.pods("a")) == 1
        assert lab.job("a")["status"]["completedIndexes"] == "0"
        assert lab.job("a")["status"]["active"] == 1

    in_lab(test)


def test_suspended_job_loses_its_pods_and_counts_no_failure():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", pods=2))
        await lab.sleep(5)
        lab.storage.patch(kinds.CLUSTERQUEUES, "", "pool", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await lab.sleep(20)

        assert lab.pods("a") == []
        assert "failed" not in lab.job("a")["status"]

    in_lab(test)


def test_finished_pods_succeed_the_job_the_jobset_and_the_workload():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", pods=2, command="sleep 3"))
        await lab.sleep(15)

        assert lab.jobset("a")["status"]["terminalState"] == "Completed"
        finished = conditions.find(lab.workload("a"), "Finished")
        assert finished is not None
        assert finished["reason"] == "Succeeded"

    in_lab(test)


def test_deadline_ends_the_job_and_a_rule_fails_the_jobset_instead_of_restarting_it():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", job={"activeDeadlineSeconds": 10}, spec=FAIL_AT_ONCE))
        await lab.sleep(30)

        failed = conditions.find(lab.job("a"), "Failed")
        assert failed is not None
        assert failed["reason"] == "DeadlineExceeded"
        status = lab.jobset("a")["status"]
        assert (status["terminalState"], status["restarts"]) == ("Failed", 0)
        assert lab.pods("a") == []

    in_lab(test)


def test_exit_code_that_the_policy_forbids_fails_the_job_at_once():
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}

    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", command="exit 42", job={"podFailurePolicy": {"rules": [rule]}}))
        await lab.sleep(10)

        failed = conditions.find(lab.job("a"), "Failed")
        assert failed is not None
        assert failed["reason"] == "PodFailurePolicy"
        assert "exit code 42" in failed["message"]

    in_lab(test)


def test_ignored_disruption_is_replaced_without_being_counted():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", job=IGNORE_DISRUPTION | {"backoffLimit": 0}))
        await lab.sleep(5)
        (pod,) = lab.pods("a")
        disrupted = [*pod["status"]["conditions"], {"type": "DisruptionTarget", "status": "True"}]
        lab.storage.patch(
            kinds.PODS,
            "default",
            pod["metadata"]["name"],
            {"status": {"conditions": disrupted}},
            subresource="status",
        )
        delete_pod(lab, "a")
        await lab.sleep(20)

        (new,) = lab.pods("a")
        assert new["metadata"]["uid"] != pod["metadata"]["uid"]
        assert "failed" not in lab.job("a")["status"]

    in_lab(test)


def test_pod_on_a_dark_node_blocks_its_replacement_when_only_failed_pods_are_replaced():
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", job=IGNORE_DISRUPTION, pod=SHORT_TOLERATION))
        await lab.sleep(5)
        (pod,) = lab.pods("a")
        nodes = lab.world.controllers.nodes
        await nodes.power_off(pod["spec"]["nodeName"])
        await lab.sleep(300)
        (stuck,) = lab.pods("a")
        assert stuck["metadata"]["uid"] == pod["metadata"]["uid"]
        assert stuck["status"]["phase"] == "Running"

        nodes.power_on(pod["spec"]["nodeName"])
        await lab.sleep(30)
        (new,) = lab.pods("a")
        assert new["metadata"]["uid"] != pod["metadata"]["uid"]

    in_lab(test)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"failurePolicy": {"maxRestarts": 0}}, "ReachedMaxRestarts"), ({}, "FailedJobs")],
)
def test_a_jobset_says_whether_a_failure_policy_made_it_fail(spec: dict[str, Any], reason: str):
    async def test(lab: Lab) -> None:
        lab.submit(jobset("a", command="exit 1", job={"backoffLimit": 0}, spec=spec))
        await lab.sleep(30)

        (failed,) = [c for c in lab.jobset("a")["status"]["conditions"] if c["type"] == "Failed"]
        assert failed["reason"] == reason
        assert failed["message"].endswith("(first failed job: a-w-0)")

    in_lab(test)


def test_failed_job_recreates_the_whole_jobset_up_to_max_restarts():
    async def test(lab: Lab) -> None:
        lab.submit(
            jobset("a", command="exit 1", job={"backoffLimit": 0}, spec={"failurePolicy": {"maxRestarts": 2}})
        )
        await lab.sleep(60)

        status = lab.jobset("a")["status"]
        assert (status["terminalState"], status["restarts"]) == ("Failed", 2)

    in_lab(test)
