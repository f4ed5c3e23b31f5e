"""How a Workload gets its quota: at once, later, in order, and through queues that are not there yet."""

from __future__ import annotations

from conformance.cluster import Cluster

ADMITTED = [
    "Admitted=True Admitted: The workload is admitted",
    "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
    "admission=cq",
]
NO_ROOM = (
    "QuotaReserved=False Pending: couldn't assign flavors to pod set w: "
    "insufficient unused quota for cpu in flavor default, 1 more needed"
)


async def test_admitted_jobset_runs_and_succeeds(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", command="sleep 1"))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("workload/a") == [
        "created",
        "priority=10 (low)",
        "queue=lq",
        *ADMITTED,
        "Finished=True Succeeded: jobset completed successfully",
    ]
    # A JobSet that is admitted at once may run before its controller ever called it suspended.
    assert cluster.story("jobset/a", leave_out=("Suspended",)) == [
        "created",
        "suspend=True",
        "suspend=False",
        "Completed=True AllJobsCompleted: jobset completed successfully",
        "terminalState=Completed",
    ]
    assert cluster.story("pod/a-w-0-0") == [
        "created",
        "phase=Pending",
        "PodScheduled=True",
        "main waiting ContainerCreating",
        "main running",
        "phase=Running",
        "main terminated Completed 0",
        "phase=Succeeded",
    ]


async def test_jobset_waits_suspended_until_quota_comes_free(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.queue("b")
    await cluster.sees("jobset/b", "Suspended=True")
    await cluster.quiet()
    await cluster.delete("jobset/a")
    await cluster.sees("pod/b-w-0-0", "phase=Running")

    assert cluster.story("workload/b") == [
        "created",
        "priority=10 (low)",
        "queue=lq",
        NO_ROOM,
        *ADMITTED,
    ]
    assert cluster.story("jobset/b") == [
        "created",
        "suspend=True",
        "Suspended=True SuspendedJobs: jobset is suspended",
        "suspend=False",
        "Suspended=False ResumeJobs: jobset is resumed",
    ]


async def test_what_no_quota_is_large_enough_for_is_told_so(cluster: Cluster):
    await cluster.furnish()
    await cluster.queue("big", cpu="2")
    await cluster.quiet()

    why = (
        "couldn't assign flavors to pod set w: insufficient quota for cpu in flavor default, "
        "previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)"
    )
    assert cluster.story("workload/big", since="Quota") == [f"QuotaReserved=False Pending: {why}"]


async def test_waits_for_its_queues_and_flavor_to_be_created(cluster: Cluster):
    await cluster.furnish()
    make = cluster.make
    await cluster.queue("a", queue="late")
    await cluster.create(make.local_queue("late", queue="cq2"))
    await cluster.sees("workload/a", "QuotaReserved=False Inadmissible: ClusterQueue cq2 doesn't")
    await cluster.create(make.cluster_queue("cq2", quota={"cpu": "1"}, flavor="rare"))
    await cluster.sees("clusterqueue/cq2", "Active=False")
    await cluster.create(make.flavor("rare"))
    await cluster.sees("workload/a", "Admitted=True")
    await cluster.sees("clusterqueue/cq2", "Active=True")
    await cluster.sees("localqueue/late", "Active=True")

    # While queues are new, Kueue may say a sentence too few, or one that names no ClusterQueue at all.
    moments = [f"QuotaReserved=False Inadmissible: ClusterQueue {s}" for s in (" doesn't", "cq2 is inactive")]
    assert cluster.story("workload/a", since="Quota", leave_out=tuple(moments)) == [
        "QuotaReserved=False Inadmissible: LocalQueue late doesn't exist",
        "QuotaReserved=False Inadmissible: ClusterQueue cq2 doesn't exist",
        "Admitted=True Admitted: The workload is admitted",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq2",
        "admission=cq2",
    ]
    assert cluster.story("clusterqueue/cq2") == [
        "created",
        "Active=False FlavorNotFound: Can't admit new workloads: references missing ResourceFlavor(s): rare.",
        "Active=True Ready: Can admit new workloads",
    ]
    assert cluster.story("localqueue/late") == [
        "created",
        "Active=False ClusterQueueDoesNotExist: Can't submit new workloads to clusterQueue",
        "Active=False ClusterQueueIsInactive: Can't submit new workloads to clusterQueue",
        "Active=True Ready: Can submit new workloads to localQueue",
    ]


async def test_no_workload_is_made_before_its_priority_class_is_there(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", priority="late"))
    await cluster.sees("jobset/a", "Suspended=True")
    await cluster.quiet()
    assert cluster.story("workload/a") == []

    await cluster.create(cluster.make.priority_class("late", 5))
    await cluster.sees("workload/a", "Admitted=True")
    assert cluster.story("workload/a") == ["created", "priority=5 (late)", "queue=lq", *ADMITTED]


async def test_higher_priority_is_served_first_when_quota_comes_free(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", priority="high")
    await cluster.queue("b")
    await cluster.queue("c", priority="high")
    await cluster.quiet()
    await cluster.delete("jobset/a")
    await cluster.sees("workload/c", "Admitted=True")
    await cluster.quiet()

    assert cluster.story("workload/b", since="Quota") == [NO_ROOM]


async def test_a_jobset_created_unsuspended_is_suspended(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.queue("b", spec={"suspend": False})
    await cluster.sees("jobset/b", "Suspended=True")
    await cluster.quiet()

    assert cluster.story("jobset/b") == [
        "created",
        "suspend=True",
        "Suspended=True SuspendedJobs: jobset is suspended",
    ]
    assert cluster.story("pod/b-w-0-0") == []


async def test_nobody_passes_kueue_by_unsuspending(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.queue("b")
    await cluster.sees("jobset/b", "Suspended=True")
    await cluster.patch("jobset/b", {"spec": {"suspend": False}})
    await cluster.sees("jobset/b", "suspend=False")
    await cluster.quiet()

    assert cluster.story("jobset/b", since="suspend=False", leave_out=("Suspended",)) == [
        "suspend=False",
        "suspend=True",
    ]
    await cluster.hears("jobset/b", "Normal Stopped: Not admitted by cluster queue")
    assert "phase=Running" not in _before("deleting", cluster.story("pod/b-w-0-0"))
    assert cluster.story("workload/b", since="Quota") == [NO_ROOM]


async def test_an_admitted_jobset_that_somebody_suspends_is_resumed(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.patch("jobset/a", {"spec": {"suspend": True}})
    await cluster.quiet()

    assert cluster.story("workload/a", since="Admitted") == ADMITTED
    assert cluster.story("jobset/a", since="suspend=False", leave_out=("Suspended",)) == [
        "suspend=False",
        "suspend=True",
        "suspend=False",
    ]
    # JobSet's controller may not have looked while it was suspended: then its pod lives on.
    stopped = "suspend=True" in cluster.story("job/a-w-0", since="Suspended=False")
    assert "phase=Running" in cluster.story("pod/a-w-0-0#2" if stopped else "pod/a-w-0-0")
    if stopped:
        await cluster.sees("pod/a-w-0-0", "gone")
        assert cluster.story("pod/a-w-0-0", since="deleting") == [
            "deleting",
            "main terminated Error 1",
            "phase=Failed",
            "gone",
        ]


async def test_a_jobset_of_nothing_stays_suspended_and_asks_for_nothing(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a") | {"spec": {"suspend": True, "replicatedJobs": []}})
    await cluster.sees("jobset/a", "Suspended=True")
    await cluster.quiet()

    assert cluster.story("workload/a") == []
    assert cluster.story("jobset/a")[-1] == "Suspended=True SuspendedJobs: jobset is suspended"


def _before(line: str, story: list[str]) -> list[str]:
    return story[: story.index(line)] if line in story else story
