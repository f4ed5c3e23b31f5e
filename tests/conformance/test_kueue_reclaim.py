"""Pods that have ended for good give their quota back while others of their Workload run on."""

from __future__ import annotations

from conformance.cluster import Cluster
from conformance.make import Json


def replicated(cluster: Cluster, **commands: str) -> list[Json]:
    """Replicated jobs of one pod, by name."""
    make = cluster.make
    return [
        {"name": name, "replicas": 1, "template": {"spec": {"template": make.pod_template(command=command)}}}
        for name, command in commands.items()
    ]


async def test_a_replicated_job_that_has_succeeded_gives_its_quota_back(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "2"})
    jobs = replicated(cluster, brief="sleep 2", long="sleep 600")
    await cluster.create(cluster.make.jobset("a", spec={"replicatedJobs": jobs}))
    await cluster.sees("pod/a-brief-0-0", "phase=Running")
    await cluster.queue("b")
    await cluster.sees("pod/b-w-0-0", "phase=Running")

    steps = ["workload/a 1 pod(s) of brief need no quota any more", "workload/b admission=cq"]
    assert cluster.order(*steps) == steps
    assert "phase=Succeeded" not in cluster.story("pod/a-long-0-0")


async def test_a_job_that_needs_fewer_pods_than_before_gives_quota_back(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "2"})
    three = {"completions": 3, "parallelism": 2, "completionMode": "Indexed"}
    await cluster.create(cluster.make.job("a", command="sleep 3", spec=three))
    await cluster.sees("pod/a-0", "phase=Running")
    await cluster.queue("b")
    await cluster.sees("pod/b-w-0-0", "phase=Running")

    steps = ["workload/a 1 pod(s) of main need no quota any more", "workload/b admission=cq"]
    assert cluster.order(*steps) == steps
    assert cluster.story("pod/a-2")[0] == "created"


async def test_a_jobset_of_one_job_keeps_its_quota_until_all_its_pods_have_ended(cluster: Cluster):
    await cluster.furnish(quota={"cpu": "2"})
    await cluster.run("a", pods=2, command="sleep 3", job={"parallelism": 1})
    await cluster.queue("b", cpu="2")
    await cluster.sees("workload/a", "Finished=True")
    await cluster.sees("pod/b-w-0-0", "phase=Running")

    assert "1 pod(s) of w need no quota any more" not in cluster.story("workload/a")
    assert cluster.order("workload/a Finished", "workload/b admission=cq")[0] == "workload/a Finished"
