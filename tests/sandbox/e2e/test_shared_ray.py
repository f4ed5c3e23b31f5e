"""A world with a Ray cluster that its teams share, beside Slurm and Kubernetes."""

from __future__ import annotations

import httpx
import pytest

from k8s_bridge.sandbox.apiserver.kinds import PODS, RAYCLUSTERS, RAYJOBS, WORKLOADS
from k8s_bridge.sandbox.world.config import HIGH, NAMESPACE, TEAM_A
from k8s_bridge.sandbox.world.shared_ray import SharedRay

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_cluster_holds_quota_and_its_jobs_none(make_world):
    async with make_world() as world:
        ray = SharedRay(world)
        await ray.start(workers=1)
        ray.submit("train", seconds=0.2)
        status = await ray.until_over("train")
        workloads = [w["metadata"]["ownerReferences"][0]["kind"] for w in world.storage.list(WORKLOADS)]
        (usage,) = world.timeline.usage.values()

    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
    assert workloads == ["RayCluster"]
    used = {resource: amount for resource, amount in usage.items() if amount}
    assert used == {"cpu": 1500, "memory": 2 * 2**30, "pods": 2}


async def test_its_head_answers_at_the_address_of_the_status_as_long_as_its_pod_lives(make_world):
    async with make_world() as world:
        ray = SharedRay(world)
        await ray.start()
        address = f"http://{ray.cluster['status']['head']['podIP']}:8265/api/version"
        async with httpx.AsyncClient() as client:
            version = (await client.get(address)).json()["ray_version"]
            head = ray.cluster["status"]["head"]["podName"]
            world.delete(PODS, head)
            await world.until(
                lambda: ray.cluster["status"]["head"].get("podName") not in (None, head), what="another head"
            )
            with pytest.raises(httpx.ConnectError):
                await client.get(address)

    assert version == "2.60.0"


async def test_kueue_takes_the_whole_cluster_for_who_is_more_important(make_world):
    async with make_world() as world:
        ray = SharedRay(world)
        await ray.start(queue=TEAM_A, workers=2, cpus=3)
        world.submit_job("urgent", priority=HIGH, cpus=4, seconds=0.5)
        await world.until(lambda: ray.cluster["spec"]["suspend"], what="the cluster is suspended")
        await world.until(
            lambda: (job := world.plain("urgent")) and job.state == "Complete", what="the urgent job is done"
        )
        await world.until(lambda: ray.cluster["status"]["state"] == "ready", what="the cluster is back")
        left = [
            p
            for p in world.storage.list(PODS, namespace=NAMESPACE)
            if "ray.io/cluster" in p["metadata"]["labels"]
        ]

    assert len(left) == 3


async def test_what_is_deleted_is_gone_with_all_its_pods(make_world):
    async with make_world() as world:
        ray = SharedRay(world)
        await ray.start(workers=1)
        ray.submit("long", seconds=60)
        await world.until(lambda: ray.status("long").get("jobStatus") == "RUNNING", what="the job runs")
        world.delete(RAYJOBS, "long")
        world.delete(RAYCLUSTERS, ray.name)
        await world.until(
            lambda: not any(world.storage.list(kind) for kind in (PODS, WORKLOADS, RAYJOBS, RAYCLUSTERS)),
            what="nothing is left",
        )
