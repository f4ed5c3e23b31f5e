"""A node loses power: its pods seem to run until they are told to go, and go only with the node."""

from __future__ import annotations

from typing import Any

from conformance.cluster import Cluster
from conformance.test_pods import PATIENT

_SOON: list[dict[str, Any]] = [
    {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
    for why in ("unreachable", "not-ready")
]


async def test_pods_of_a_dead_node_are_told_to_go_and_go_when_it_is_deleted(cluster: Cluster):
    await cluster.furnish()
    where = {"kubernetes.io/hostname": "node2"}
    await cluster.run("a", job=PATIENT, nodeSelector=where, tolerations=_SOON)
    await cluster.power_off("node2")
    await cluster.sees("pod/a-w-0-0", "deleting")
    await cluster.quiet()

    assert set(cluster.story("node/node2", since="Ready=Unknown")) == {
        "Ready=Unknown NodeStatusUnknown: Kubelet stopped posting node status.",
        "taint node.kubernetes.io/unreachable:NoExecute",
        "taint node.kubernetes.io/unreachable:NoSchedule",
    }
    assert cluster.story("pod/a-w-0-0", since="phase=Running") == [
        "phase=Running",
        "DisruptionTarget=True DeletionByTaintManager: Taint manager: deleting due to NoExecute taint",
        "deleting",
    ]
    assert cluster.story("pod/a-w-0-0#2") == []

    await cluster.delete("node/node2")
    await cluster.sees("pod/a-w-0-0", "gone", patience=3)
    await cluster.sees("pod/a-w-0-0#2", "PodScheduled=False")

    assert cluster.story("pod/a-w-0-0", since="deleting") == [
        "deleting",
        "DisruptionTarget=True DeletionByPodGC: PodGC: node no longer exists",
        "phase=Failed",
        "gone",
    ]
    assert "failed" not in (await cluster.get("job/a-w-0"))["status"]
    assert cluster.story("workload/a")[-1] == "admission=cq"
