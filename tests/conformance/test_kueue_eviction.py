"""How capacity is taken back: deactivation, a Workload deleted by hand, a time limit."""

from __future__ import annotations

from conformance.cluster import Cluster
from conformance.test_kueue_admission import ADMITTED, NO_ROOM
from conformance.test_kueue_stopped import STOPPED


async def test_deactivated_workload_stops_and_starts_again_when_activated(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.patch("workload/a", {"spec": {"active": False}})
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.quiet()
    assert cluster.story("workload/a", since="active") == [
        "active=False",
        "Evicted=True Deactivated: The workload is deactivated",
        "Admitted=False NoReservation: The workload has no reservation",
        "QuotaReserved=False Pending: The workload is deactivated",
        "Requeued=False Deactivated: The workload is deactivated",
        "no admission",
    ]
    await cluster.hears("workload/a", "Normal EvictedDueToDeactivated: The workload is deactivated")

    await cluster.patch("workload/a", {"spec": {"active": True}})
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")
    assert cluster.story("workload/a", since="active=True") == [
        "active=True",
        "Requeued=True Reactivated: The workload was reactivated",
        "Admitted=True Admitted: The workload is admitted",
        "Evicted=False QuotaReserved: Previously: The workload is deactivated",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
    ]


async def test_eviction_is_said_first_and_quota_comes_back_last(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.patch("workload/a", {"spec": {"active": False}})
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.quiet()

    steps = ["workload/a Evicted=True", "pod/a-w-0-0 deleting", "workload/a QuotaReserved=False"]
    assert cluster.order(*steps) == steps
    assert cluster.story("jobset/a", since="suspend=False")[2:] == [
        "suspend=True",
        "Suspended=True SuspendedJobs: jobset is suspended",
    ]
    assert cluster.story("pod/a-w-0-0", since="deleting") == ["deleting", *STOPPED]


async def test_a_waiting_workload_can_be_deactivated_and_keeps_its_reason_to_wait(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.queue("b")
    await cluster.quiet()
    await cluster.patch("workload/b", {"spec": {"active": False}})
    await cluster.sees("workload/b", "Evicted=True")
    await cluster.delete("jobset/a")
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.quiet()
    assert cluster.story("workload/b", since="Quota") == [
        NO_ROOM,
        "active=False",
        "Evicted=True Deactivated: The workload is deactivated",
    ]
    assert not any("EvictedDueTo" in event for event in cluster.events("workload/b"))

    await cluster.patch("workload/b", {"spec": {"active": True}})
    await cluster.sees("pod/b-w-0-0", "phase=Running")
    assert cluster.story("workload/b", since="active=True") == [
        "active=True",
        "Admitted=True Admitted: The workload is admitted",
        "Evicted=False QuotaReserved: Previously: The workload is deactivated",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
    ]


async def test_deleting_the_workload_of_a_running_jobset_stops_it_without_an_eviction(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.delete("workload/a")
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")
    await cluster.sees("pod/a-w-0-0", "gone")

    assert cluster.story("workload/a", since="Admitted") == [*ADMITTED, "deleting", "gone"]
    assert cluster.story("workload/a#2", since="queue") == ["queue=lq", *ADMITTED]
    await cluster.hears("jobset/a", "Normal Stopped: Workload is deleted")
    steps = ["workload/a deleting", "jobset/a suspend=True", "workload/a gone", "workload/a#2 created"]
    assert cluster.order(*steps[:1], *steps[2:]) == [*steps[:1], *steps[2:]]
    assert cluster.story("pod/a-w-0-0", since="deleting") == ["deleting", *STOPPED]


async def test_deleting_the_workload_of_a_waiting_jobset_makes_a_new_one(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.queue("b")
    await cluster.sees("jobset/b", "Suspended=True")
    await cluster.quiet()
    await cluster.delete("workload/b")
    await cluster.sees("workload/b#2", "QuotaReserved=False")

    assert cluster.story("workload/b", since="Quota") == [NO_ROOM, "deleting", "gone"]
    assert cluster.story("workload/b#2") == ["created", "priority=10 (low)", "queue=lq", NO_ROOM]
    assert cluster.story("jobset/b")[-1] == "Suspended=True SuspendedJobs: jobset is suspended"


async def test_a_workload_that_runs_too_long_is_deactivated(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", labels={"kueue.x-k8s.io/max-exec-time-seconds": "2"}))
    await cluster.sees("workload/a", "no admission")
    await cluster.quiet()

    why = "The workload is deactivated due to exceeding the maximum execution time"
    # The real one may write DeactivationTarget once more from an old copy.
    assert cluster.story("workload/a", since="active", leave_out=("Deactivation", "no Deactivation")) == [
        "active=False",
        f"Evicted=True DeactivatedDueToMaximumExecutionTimeExceeded: {why}",
        "Admitted=False NoReservation: The workload has no reservation",
        f"QuotaReserved=False Pending: {why}",
        f"Requeued=False DeactivatedDueToMaximumExecutionTimeExceeded: {why}",
        "no admission",
    ]
    await cluster.hears(
        "workload/a", "Warning MaximumExecutionTimeExceeded: The maximum execution time (2s) exceeded"
    )
