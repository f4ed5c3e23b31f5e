"""Queues that are stopped: Hold keeps what waits, HoldAndDrain takes the quota back as well."""

from __future__ import annotations

import pytest
from conformance.cluster import Cluster

STOPPED = ["main terminated Error 1", "phase=Failed", "gone"]
# Kueue's scheduler and its Workload controller overtake each other when a queue is started again.
_RACE = ("Requeued",)


@pytest.mark.parametrize(
    ("queue", "kind", "inactive"),
    [
        ("clusterqueue/cq", "ClusterQueue", "ClusterQueue cq"),
        ("localqueue/lq", "LocalQueue", "LocalQueue lq"),
    ],
)
async def test_held_queue_admits_nothing_new_and_a_drained_one_evicts(
    cluster: Cluster, queue, kind, inactive
):
    await cluster.furnish(quota={"cpu": "2"})
    await cluster.run("a")

    await cluster.patch(queue, {"spec": {"stopPolicy": "Hold"}})
    await cluster.sees("localqueue/lq", "Active=False")
    await cluster.queue("b")
    await cluster.quiet()
    assert cluster.story("workload/b", since="Quota") == [
        f"QuotaReserved=False Inadmissible: {inactive} is inactive"
    ]
    assert cluster.story("pod/a-w-0-0")[-1] == "phase=Running"

    await cluster.patch(queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.quiet()
    assert cluster.story("workload/a", since="Evicted") == [
        f"Evicted=True {kind}Stopped: The {kind} is stopped",
        "Admitted=False NoReservation: The workload has no reservation",
        f"QuotaReserved=False Pending: The {kind} is stopped",
        f"Requeued=False {kind}Stopped: The {kind} is stopped",
        "no admission",
        f"QuotaReserved=False Inadmissible: {inactive} is inactive",
    ]
    assert cluster.story("pod/a-w-0-0", since="deleting") == ["deleting", *STOPPED]

    await cluster.patch(queue, {"spec": {"stopPolicy": "None"}})
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")
    await cluster.sees("pod/b-w-0-0", "phase=Running")
    await cluster.sees("workload/a", "Requeued=True")
    assert cluster.story("workload/a", since="QuotaReserved=False Inadmissible", leave_out=_RACE)[1:] == [
        "Admitted=True Admitted: The workload is admitted",
        f"Evicted=False QuotaReserved: Previously: The {kind} is stopped",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
    ]
    assert f"Requeued=True {kind}Restarted: The {kind} was restarted after being stopped" in cluster.story(
        "workload/a"
    )
