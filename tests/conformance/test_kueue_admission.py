"""A Workload from its creation to its end, when nothing stands in its way."""

from __future__ import annotations

from conformance.cluster import Cluster


async def test_admitted_jobset_runs_and_succeeds(cluster: Cluster):
    await cluster.furnish()
    await cluster.create(cluster.make.jobset("a", command="sleep 1"))
    await cluster.sees("workload/a", "Finished=True")

    assert cluster.story("workload/a") == [
        "created",
        "priority=10 (low)",
        "queue=lq",
        "Admitted=True Admitted: The workload is admitted",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
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
