"""Who is preempted for whom, what is said, and when the one starts and the other stops."""

from __future__ import annotations

from conformance.cluster import Cluster
from conformance.test_kueue_admission import ADMITTED, NO_ROOM
from conformance.test_kueue_stopped import STOPPED


def _why(by: str, *, job: str) -> str:
    return (
        f"Preempted to accommodate a workload (UID: <{by}>, JobUID: <{job}>) due to prioritization in the "
        "ClusterQueue; preemptor path: /cq; preemptee path: /cq"
    )


async def test_a_jobset_of_higher_priority_preempts_and_the_victim_comes_back(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.run("b", priority="high")
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.quiet()
    why = _why("workload/b", job="jobset/b")
    assert cluster.story("workload/a", since="Evicted") == [
        f"Evicted=True Preempted: {why}",
        f"Preempted=True InClusterQueue: {why}",
        "Admitted=False NoReservation: The workload has no reservation",
        f"QuotaReserved=False Pending: {why}",
        f"Requeued=True Preempted: {why}",
        "no admission",
        NO_ROOM,
    ]
    assert cluster.story("workload/b", since="Quota") == [
        f"{NO_ROOM}. Pending the preemption of 1 workload(s)",
        *ADMITTED,
    ]
    assert cluster.story("pod/a-w-0-0", since="deleting") == ["deleting", *STOPPED]

    await cluster.delete("jobset/b")
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")
    assert cluster.story("workload/a", since=NO_ROOM)[1:] == [
        "Admitted=True Admitted: The workload is admitted",
        f"Evicted=False QuotaReserved: Previously: {why}",
        f"Preempted=False QuotaReserved: Previously: {why}",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
    ]


async def test_the_preemptor_is_admitted_after_the_victim_stopped_and_before_its_pods_are_gone(
    cluster: Cluster,
):
    await cluster.furnish()
    # A shell that is process 1 ignores SIGTERM: the pod takes its whole grace.
    await cluster.run("a", command="sleep 600", terminationGracePeriodSeconds=60)
    await cluster.run("b", priority="high")
    await cluster.quiet()

    steps = [
        "workload/a Evicted=True Preempted",
        "pod/a-w-0-0 deleting",
        "workload/a no admission",
        "workload/b admission=cq",
        "jobset/b suspend=False",
        "pod/b-w-0-0 created",
    ]
    assert cluster.order(*steps) == steps
    assert cluster.story("pod/a-w-0-0")[-2:] == ["phase=Running", "deleting"]
    assert cluster.story("jobset/a", since="suspend=False", leave_out=("Suspended",)) == [
        "suspend=False",
        "suspend=True",
    ]


async def test_a_kubernetes_job_is_preempted_like_a_jobset(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.job("k"))
    await cluster.sees("pod/k", "phase=Running")
    await cluster.run("b", priority="high")
    await cluster.sees("pod/k", "gone")
    await cluster.delete("jobset/b")
    await cluster.sees("pod/k#2", "phase=Running")
    await cluster.sees("job/k", "Suspended=False")

    assert cluster.story("job/k") == [
        "created",
        "suspend=True",
        "Suspended=True JobSuspended: Job suspended",
        "suspend=False",
        "Suspended=False JobResumed: Job resumed",
        "suspend=True",
        "Suspended=True JobSuspended: Job suspended",
        "suspend=False",
        "Suspended=False JobResumed: Job resumed",
    ]
    why = _why("workload/b", job="jobset/b")
    assert cluster.story("workload/k", since="Evicted")[:2] == [
        f"Evicted=True Preempted: {why}",
        f"Preempted=True InClusterQueue: {why}",
    ]


async def test_a_kubernetes_job_preempts_and_gives_the_quota_back_when_it_completes(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")
    await cluster.create(cluster.make.job("k", priority="high", command="sleep 1"))
    await cluster.sees("pod/a-w-0-0#2", "phase=Running")

    why = _why("workload/k", job="job/k")
    assert cluster.story("workload/a", since="Evicted")[:2] == [
        f"Evicted=True Preempted: {why}",
        f"Preempted=True InClusterQueue: {why}",
    ]
    assert cluster.story("workload/k", since="Finished") == [
        "Finished=True Succeeded: Reached expected number of succeeded pods"
    ]
    steps = [
        "workload/a Evicted=True",
        "workload/k admission=cq",
        "workload/k Finished=True",
        "workload/a Evicted=False",
    ]
    assert cluster.order(*steps) == steps


async def test_equal_priority_waits(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a", priority="high")
    await cluster.queue("b", priority="high")
    await cluster.quiet()

    assert cluster.story("workload/a")[-1] == "admission=cq"
    assert cluster.story("workload/b", since="Quota") == [NO_ROOM]


async def test_a_queue_takes_back_what_another_one_borrowed_whatever_its_priority(cluster: Cluster):
    shared = {
        "cohortName": cluster.make.own("all"),
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
    }
    await cluster.furnish(**shared)
    await cluster.create(cluster.make.cluster_queue("cq2", quota={"cpu": "1"}, **shared))
    await cluster.create(cluster.make.local_queue("lq2", queue="cq2"))
    await cluster.sees("localqueue/lq2", "Active=True")
    await cluster.run("a", cpu="2", priority="high")
    await cluster.run("b", queue="lq2")
    await cluster.sees("pod/a-w-0-0", "gone")

    why = (
        "Preempted to accommodate a workload (UID: <workload/b>, JobUID: <jobset/b>) due to reclamation "
        "within the cohort; preemptor path: /all/cq2; preemptee path: /all/cq"
    )
    assert cluster.story("workload/a", since="Evicted")[:6] == [
        f"Evicted=True Preempted: {why}",
        f"Preempted=True InCohortReclamation: {why}",
        "Admitted=False NoReservation: The workload has no reservation",
        f"QuotaReserved=False Pending: {why}",
        f"Requeued=True Preempted: {why}",
        "no admission",
    ]
