"""Jobs in trouble: deleted, lost, preempted too often, without their cluster; nothing is left of any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.ray_sandbox import CLUSTER, NAMESPACE, RaySandbox, mixing, sandbox

from k8s_bridge.ray.moves import asking
from k8s_bridge.sandbox.apiserver import kinds

Stage = Callable[[RaySandbox], bool]
STAGES: dict[str, Stage] = {
    "created": lambda world: world.job("job") is not None,
    "asked for": lambda world: bool(world.jobsets()),
    "released": lambda world: "released" in world.notes("job"),
    "running": lambda world: world.status("job") == "RUNNING",
    "over": lambda world: world.status("job") == "SUCCEEDED",
}


@pytest.mark.parametrize("stage", STAGES)
async def test_a_job_that_is_deleted_leaves_nothing_behind(tmp_path: Path, stage: str):
    async with sandbox(tmp_path) as world, world.bridge():
        before = world.used()
        world.submit("job", seconds=1.0)
        await world.until(lambda: STAGES[stage](world), what=stage)

        world.storage.delete(kinds.RAYJOBS, NAMESPACE, "job")

        await world.until(lambda: world.job("job") is None, what="it is gone")
        await world.until(lambda: not world.jobsets() and world.used() == before, what="all is given back")


async def test_a_job_whose_workers_are_deleted_runs_again(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", seconds=1.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.storage.delete(kinds.JOBSETS, NAMESPACE, world.jobsets()[0])

        await world.until(lambda: world.notes("job").get("requeues") == "1", what="it is requeued")
        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs again", seconds=60)


async def test_a_job_that_may_not_run_again_ends_and_says_why(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", seconds=30.0, notes={"max-requeues": "0", "workers": "3"})
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.submit_plain("urgent", cpus=2, seconds=0.5)

        await world.until(lambda: world.status("job") in ("STOPPED", "FAILED"), what="it ends")
        await world.until(lambda: not world.jobsets(), what="all is given back")
        assert "RequeuesExhausted" in world.events()


async def test_a_job_that_fails_by_itself_is_not_run_again(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", entrypoint='python3 -c "raise SystemExit(3)"')

        await world.until(lambda: world.status("job") == "FAILED", what="it fails")
        await world.until(lambda: not world.jobsets(), what="all is given back")
        assert "requeues" not in world.notes("job")
        await world.until(lambda: "JobFailed" in world.events(), what="an event tells of it")
        assert "its last words: Job entrypoint command failed" in world.notes("job")["message"]


async def test_a_job_waits_for_its_cluster_without_quota(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.storage.delete(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        await world.until(lambda: world.used() == "0", what="the cluster is gone")

        world.submit("job")

        await world.until(lambda: world.notes("job").get("state") == "WaitingCluster", what="it says so")
        assert world.jobsets() == []


async def test_jobs_wait_for_each_other_in_order_of_priority(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("first", notes={"workers": "3"}, seconds=5.0)
        await world.until(lambda: world.status("first") == "RUNNING", what="it runs")
        world.submit("patient", notes={"workers": "3"}, seconds=0.2)
        await world.until(
            lambda: world.notes("patient").get("state") == "Queued", what="it waits", seconds=40
        )

        await world.until(lambda: world.status("patient") == "SUCCEEDED", what="all succeed", seconds=60)
        assert world.status("first") == "SUCCEEDED"
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_a_finished_job_goes_when_its_time_is_up(tmp_path: Path):
    async with sandbox(tmp_path, ttlAfterFinished="1s") as world, world.bridge():
        world.submit("job")

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it succeeds")
        await world.until(lambda: world.job("job") is None, what="it goes")


async def test_a_job_whose_worker_dies_under_its_driver_runs_again(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", seconds=6.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.storage.delete(kinds.PODS, NAMESPACE, world.workers()[0], grace_seconds=0)

        await world.until(
            lambda: world.notes("job").get("requeues") == "1", what="it is requeued", seconds=60
        )
        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs again", seconds=60)
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_jobs_outlive_the_head_of_their_cluster(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", seconds=2.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.storage.delete(kinds.PODS, NAMESPACE, world.head(), grace_seconds=0)

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs again", seconds=90)
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_a_job_runs_on_while_a_head_restarts_whose_memory_is_kept_elsewhere(tmp_path: Path):
    tolerant = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    async with sandbox(tmp_path, cluster=tolerant) as world, world.bridge():
        world.submit("job", seconds=4.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")
        workers, before = world.workers(), world.head()

        world.storage.delete(kinds.PODS, NAMESPACE, before, grace_seconds=0)
        await world.until(lambda: world.heads() - {before} and world.submissions(), what="another head is up")

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it succeeds", seconds=60)
        assert list(world.submissions().values()) == ["SUCCEEDED"]
        assert "requeues" not in world.notes("job")
        assert set(world.workers()) <= set(workers)
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_a_driver_on_the_head_ends_with_it_all_the_same_and_its_job_has_failed(tmp_path: Path):
    tolerant = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    async with sandbox(tmp_path, cluster=tolerant, driverPlacement="head") as world, world.bridge():
        world.submit("job", seconds=60.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.storage.delete(kinds.PODS, NAMESPACE, world.head(), grace_seconds=0)

        await world.until(lambda: world.status("job") == "FAILED", what="it has failed", seconds=60)
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_a_job_waits_for_a_cluster_that_is_made_anew(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        cluster = world.storage.get(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        world.storage.delete(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        world.submit("job")
        await world.until(lambda: world.notes("job").get("state") == "WaitingCluster", what="it waits")

        meta = {key: cluster["metadata"][key] for key in ("name", "namespace", "labels")}
        world.create(kinds.RAYCLUSTERS, {"metadata": meta, "spec": cluster["spec"] | {"suspend": False}})

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs", seconds=60)


async def test_a_tolerant_cluster_that_is_made_anew_remembers_nothing_of_the_one_before(tmp_path: Path):
    tolerant = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    async with sandbox(tmp_path, cluster=tolerant) as world, world.bridge():
        world.submit("job", seconds=2.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")
        cluster = world.storage.get(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        before = world.controllers.ray.at(NAMESPACE, CLUSTER)

        world.storage.delete(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        await world.until(lambda: not world.heads(), what="its head is gone")
        meta = {key: cluster["metadata"][key] for key in ("name", "namespace", "labels")}
        world.create(kinds.RAYCLUSTERS, {"metadata": meta, "spec": cluster["spec"] | {"suspend": False}})

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs again", seconds=90)
        assert world.controllers.ray.at(NAMESPACE, CLUSTER) not in (before, None)


async def test_workers_that_never_join_are_given_up(tmp_path: Path):
    nowhere = {"name": CLUSTER, "podTemplate": {"spec": {"nodeSelector": {"no": "such-node"}}}}
    async with sandbox(tmp_path, workerRetries=1, managedClusters=[nowhere]) as world, world.bridge():
        patch = {"spec": {"provisionTimeout": "1s"}}
        world.storage.patch(kinds.WORKLOADMIXINGS, NAMESPACE, "main", patch)
        world.submit("job")

        await world.until(
            lambda: world.notes("job").get("state") == "WorkerRetriesExhausted",
            what="it is given up",
            seconds=60,
        )
        told = {"WorkerJobSetFailed", "WorkerRetriesExhausted"}
        await world.until(lambda: told <= world.events(), what="both are told")
        await world.until(lambda: not world.jobsets(), what="its quota is given back")


async def test_of_two_workloadmixings_of_one_cluster_the_older_serves_it(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        section = world.storage.get(kinds.WORKLOADMIXINGS, NAMESPACE, "main")["spec"]["ray"]
        world.create(kinds.WORKLOADMIXINGS, mixing(section, name="newer"))

        await world.until(lambda: world.ray_ready("newer") == "Conflicting", what="the newer says so")
        world.submit("job", seconds=1.0)

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it succeeds")
        assert world.notes("job").get("requeues") is None
        assert world.ray_ready("main") == "Ready"


async def test_a_job_that_is_stopped_in_ray_is_over(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", seconds=30.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.stop("job")

        await world.until(lambda: world.status("job") == "STOPPED", what="it is stopped")
        await world.until(lambda: not world.jobsets(), what="all is given back")
        assert "requeues" not in world.notes("job")


async def test_a_running_job_outlives_its_cluster(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        cluster = world.storage.get(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        world.submit("job", seconds=2.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")

        world.storage.delete(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
        await world.until(lambda: world.cluster() is None, what="the cluster is gone")
        meta = {key: cluster["metadata"][key] for key in ("name", "namespace", "labels")}
        world.create(kinds.RAYCLUSTERS, {"metadata": meta, "spec": cluster["spec"] | {"suspend": False}})

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs again", seconds=90)
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_a_running_job_outlives_the_suspension_of_its_cluster(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(asking, "_CLUSTER_GRACE", 1.0)
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("job", seconds=2.0)
        await world.until(lambda: world.status("job") == "RUNNING", what="it runs")
        (workload,) = [
            obj["metadata"]["name"]
            for obj in world.storage.list(kinds.WORKLOADS, namespace=NAMESPACE)
            if obj["metadata"]["name"].startswith("raycluster")
        ]

        world.storage.patch(kinds.WORKLOADS, NAMESPACE, workload, {"spec": {"active": False}})
        await world.until(lambda: (world.cluster() or {})["spec"].get("suspend"), what="it is suspended")
        await world.until(
            lambda: world.used() == "0", what="nothing is kept for a cluster that is away", seconds=60
        )
        world.storage.patch(kinds.WORKLOADS, NAMESPACE, workload, {"spec": {"active": True}})

        await world.until(lambda: world.status("job") == "SUCCEEDED", what="it runs again", seconds=90)
        await world.until(lambda: not world.jobsets(), what="all is given back")


async def test_what_a_person_submits_is_left_alone_and_told_of(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("notebook", submissionMode="InteractiveMode")

        await world.until(lambda: world.notes("notebook").get("state") == "Interactive", what="it is told of")
        await world.until(lambda: "InteractiveMode" in world.events(), what="an event tells of it")
        assert world.jobsets() == []
        assert "accepted" not in world.notes("notebook")


async def test_neither_rays_patience_nor_a_deadline_counts_before_the_release(tmp_path: Path):
    async with sandbox(tmp_path, driverPlacement="head") as world:
        world.controllers.ray.at(NAMESPACE, CLUSTER)._start_timeout = 2.0
        world.submit("timed", seconds=0.2, activeDeadlineSeconds=2)
        world.submit("slow", seconds=30.0, activeDeadlineSeconds=2)
        await world.until(lambda: world.age("slow") > 2.5, what="it has waited for longer than it may run")
        assert world.status("timed") == ""
        async with world.bridge():
            await world.until(lambda: world.status("timed") == "SUCCEEDED", what="it succeeds")
            await world.until(
                lambda: (world.job("slow") or {})["status"].get("reason") == "DeadlineExceeded",
                what="it ends",
            )
            await world.until(lambda: not world.jobsets(), what="all is given back")
            assert "RUNNING" not in world.submissions().values()
        assert "requeues" not in world.notes("slow")
