"""What becomes of pods, and how their Job counts it."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.cluster import Cluster

PATIENT: dict[str, Any] = {
    "backoffLimit": 6,
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    },
}
"""As the bridge makes its Jobs: a disruption costs nothing."""
NEVER_RAN = [
    "deleting",
    "main waiting ContainerCreating",
    "main terminated ContainerStatusUnknown 137",
    "phase=Failed",
    "gone",
]


def _unschedulable(*reasons: str) -> str:
    return (
        f"PodScheduled=False Unschedulable: 0/3 nodes are available: {', '.join(reasons)}. no new claims to "
        "deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


async def test_a_pod_that_is_larger_than_any_node_is_unschedulable(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "100"})
    await cluster.create(cluster.make.jobset("a", cpu="50", nodeSelector={}))
    await cluster.sees("pod/a-w-0-0", "PodScheduled=False")
    await cluster.delete("jobset/a")
    await cluster.sees("pod/a-w-0-0", "gone")

    assert cluster.story("pod/a-w-0-0") == [
        "created",
        "phase=Pending",
        _unschedulable("1 node(s) had untolerated taint(s)", "2 Insufficient cpu"),
        "deleting",
        "gone",
    ]
    assert cluster.story("workload/a", since="admission")[0] == "admission=cq"


async def test_a_pod_whose_selector_no_node_meets_is_unschedulable(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", nodeSelector={"no": "such"}))
    await cluster.sees("pod/a-w-0-0", "PodScheduled=False")

    assert cluster.story("pod/a-w-0-0")[-1] == _unschedulable(
        "1 node(s) had untolerated taint(s)", "2 node(s) didn't match Pod's node affinity/selector"
    )


async def test_a_pod_without_an_image_backs_off_and_ends_as_never_run_when_deleted(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", image="nosuch.invalid/x:1"))
    await cluster.sees("pod/a-w-0-0", "main waiting ImagePullBackOff")
    await cluster.delete("jobset/a")
    await cluster.sees("pod/a-w-0-0", "gone")

    assert cluster.story("pod/a-w-0-0") == [
        "created",
        "phase=Pending",
        "PodScheduled=True",
        "main waiting ContainerCreating",
        "main waiting ErrImagePull",
        "main waiting ImagePullBackOff",
        *NEVER_RAN,
    ]


async def test_a_container_over_its_memory_limit_is_killed(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "1", "memory": "1Gi"})
    resources = {"requests": {"cpu": "1"}, "limits": {"memory": "16Mi"}}
    grow = "x=aaaaaaaa; while true; do x=$x$x; done"
    await cluster.create(cluster.make.jobset("a", command=grow, container={"resources": resources}))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("pod/a-w-0-0", since="main terminated") == [
        "main terminated OOMKilled 137",
        "phase=Failed",
    ]


async def test_a_command_that_is_not_there_never_starts(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", container={"command": ["/nosuch"]}))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("pod/a-w-0-0", since="PodScheduled") == [
        "PodScheduled=True",
        "main waiting ContainerCreating",
        "main terminated StartError 128",
        "phase=Failed",
    ]


async def _numbers(cluster: Cluster) -> dict[str, int]:
    status = (await cluster.get("job/a-w-0"))["status"]
    return {key: status.get(key, 0) for key in ("active", "failed", "succeeded")}


@pytest.mark.parametrize("policy", [PATIENT, {"backoffLimit": 6}], ids=["ignores disruptions", "no policy"])
async def test_a_pod_deleted_by_hand_is_replaced_and_counts_as_failed(cluster: Cluster, policy):
    await cluster.furnish(quota={"cpu": "2"})
    await cluster.run("a", pods=2, job=policy)
    await cluster.sees("pod/a-w-0-1", "phase=Running")
    await cluster.delete("pod/a-w-0-0")
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")
    await cluster.quiet()

    assert cluster.story("pod/a-w-0-0", since="deleting") == [
        "deleting",
        "main terminated Error 1",
        "phase=Failed",
        "gone",
    ]
    assert cluster.story("pod/a-w-0-1")[-1] == "phase=Running"
    assert await _numbers(cluster) == {"active": 2, "failed": 1, "succeeded": 0}
    assert cluster.story("workload/a")[-1] == "admission=cq"


async def test_a_pod_deleted_by_force_still_gets_two_seconds(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", job=PATIENT)
    await cluster.delete("pod/a-w-0-0", gracePeriodSeconds=0)
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")

    assert cluster.story("pod/a-w-0-0", since="deleting") == [
        "deleting",
        "main terminated Error 1",
        "phase=Failed",
        "gone",
    ]
    assert (await _numbers(cluster))["failed"] == 1


async def test_a_pod_evicted_by_the_api_does_not_count_where_disruptions_are_ignored(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", job=PATIENT)
    await cluster.evict("pod/a-w-0-0")
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")
    await cluster.quiet()

    assert cluster.story("pod/a-w-0-0", since="Disruption") == [
        "DisruptionTarget=True EvictionByEvictionAPI: Eviction API: evicting",
        "deleting",
        "main terminated Error 1",
        "phase=Failed",
        "gone",
    ]
    assert (await _numbers(cluster))["failed"] == 0


async def test_a_deleted_pod_that_ends_with_success_completes_its_job(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", job=PATIENT, command="trap 'exit 0' TERM; sleep 600 & wait")
    await cluster.delete("pod/a-w-0-0")
    await cluster.sees("workload/a", "Finished=True")
    await cluster.sees("pod/a-w-0-0", "gone")

    assert cluster.story("pod/a-w-0-0", since="deleting") == [
        "deleting",
        "main terminated Completed 0",
        "phase=Succeeded",
        "gone",
    ]
    assert cluster.story("workload/a")[-1] == "Finished=True Succeeded: jobset completed successfully"
