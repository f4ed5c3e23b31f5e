"""What goes with a JobSet, in which order, and when its quota is free."""

from __future__ import annotations

from conformance.cluster import Cluster
from conformance.test_kueue_admission import ADMITTED, NO_ROOM
from conformance.test_kueue_stopped import STOPPED

# Garbage collector and Kueue race: the Workload's finalizer goes before its deletion is asked for, or after.
_RACE = ("deleting",)


async def test_quota_of_a_deleted_jobset_is_free_before_its_pods_are_gone(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", command="sleep 600", terminationGracePeriodSeconds=60)
    await cluster.queue("b")
    await cluster.quiet()
    await cluster.delete("jobset/a")
    await cluster.sees("pod/b-w-0-0", "phase=Running")
    await cluster.quiet()

    steps = ["jobset/a gone", "workload/a gone", "workload/b admission=cq", "pod/b-w-0-0 created"]
    assert cluster.order(*steps) == steps
    assert cluster.story("pod/a-w-0-0")[-2:] == ["phase=Running", "deleting"]
    assert cluster.story("workload/a", since="Admitted", leave_out=_RACE) == [*ADMITTED, "gone"]
    assert cluster.story("job/a-w-0")[-1] == "gone"
    assert "deleting" not in cluster.story("jobset/a")


async def test_foreground_deletion_keeps_the_jobset_until_its_pods_are_gone(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.delete("jobset/a", propagationPolicy="Foreground")
    await cluster.sees("jobset/a", "gone")

    steps = ["jobset/a deleting", "workload/a gone", "pod/a-w-0-0 gone", "job/a-w-0 gone", "jobset/a gone"]
    assert cluster.order(*steps) == steps
    assert cluster.story("pod/a-w-0-0", since="deleting") == ["deleting", *STOPPED]


async def test_a_waiting_jobset_leaves_nothing(cluster: Cluster):
    await cluster.furnish()
    await cluster.queue("a", cpu="2")
    await cluster.sees("jobset/a", "Suspended=True")
    await cluster.quiet()
    await cluster.delete("jobset/a")
    await cluster.sees("workload/a", "gone")
    await cluster.sees("job/a-w-0", "gone")

    assert cluster.story("workload/a", since="Quota", leave_out=_RACE)[1:] == ["gone"]
    assert cluster.story("pod/a-w-0-0") == []


async def test_a_jobset_deleted_during_its_eviction_leaves_nothing(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", command="sleep 600", terminationGracePeriodSeconds=3)
    await cluster.queue("b")
    await cluster.patch("workload/a", {"spec": {"active": False}})
    await cluster.sees("pod/a-w-0-0", "deleting")
    await cluster.delete("jobset/a")
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.sees("workload/a", "gone")
    await cluster.sees("workload/b", "Admitted=True")

    assert cluster.story("workload/b", since="Quota") == [NO_ROOM, *ADMITTED]
    assert cluster.story("pod/a-w-0-0", since="deleting") == [
        "deleting",
        "main terminated Error 137",
        "phase=Failed",
        "gone",
    ]


async def test_a_finished_jobset_takes_its_pods_along(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", command="sleep 1"))
    await cluster.sees("workload/a", "Finished=True")
    await cluster.quiet()
    await cluster.delete("jobset/a")
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.sees("workload/a", "gone")

    assert cluster.story("pod/a-w-0-0", since="phase=Succeeded") == ["phase=Succeeded", "deleting", "gone"]
