"""What policies and webhook let in, what they make of it, and what they refuse: the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ray_refusals import FROZEN, REFUSALS
from support.ray_sandbox import CLUSTER, NAMESPACE, Admission, RaySandbox, sandbox

from k8s_bridge.ray import names
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.errors import ApiError

BOTH = pytest.mark.parametrize("admission", Admission)


@BOTH
async def test_what_cannot_be_given_is_refused_with_the_reason(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world:
        for case, refusal in REFUSALS.items():
            with pytest.raises(ApiError) as refused:
                world.submit(refusal.name, notes=refusal.notes, **refusal.spec)
            assert refusal.said in str(refused.value), case
        assert world.storage.list(kinds.RAYJOBS) == []


@BOTH
async def test_what_workers_were_asked_for_by_cannot_be_changed(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world:
        world.submit("job")
        for case, change in FROZEN.items():
            with pytest.raises(ApiError) as refused:
                world.storage.patch(kinds.RAYJOBS, NAMESPACE, "job", change)
            assert "cannot be changed" in str(refused.value), case
        world.storage.patch(kinds.RAYJOBS, NAMESPACE, "job", {"metadata": {"labels": {"anything": "else"}}})


@BOTH
async def test_no_job_becomes_one_of_a_managed_cluster_later(tmp_path: Path, admission: Admission):
    """Its pool, its workers and their number would not have been looked at."""
    async with sandbox(tmp_path, admission=admission) as world:
        world.submit("elsewhere", clusterSelector={names.CLUSTER_SELECTOR: "other"})
        world.submit("by-hand", submissionMode="InteractiveMode")
        for name, spec in (
            ("elsewhere", {"clusterSelector": {names.CLUSTER_SELECTOR: CLUSTER}}),
            ("by-hand", {"submissionMode": "K8sJobMode"}),
        ):
            with pytest.raises(ApiError) as refused:
                world.storage.patch(kinds.RAYJOBS, NAMESPACE, name, {"spec": spec})
            assert "cannot be changed" in str(refused.value), name
        anything = {"entrypoint": "false", "clusterSelector": None}
        world.storage.patch(kinds.RAYJOBS, NAMESPACE, "elsewhere", {"spec": anything})


@BOTH
async def test_kueues_suspension_is_undone_and_its_queue_remembered(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world:
        labels = {"kueue.x-k8s.io/queue-name": "mine"}
        spec = {
            "clusterSelector": {names.CLUSTER_SELECTOR: CLUSTER},
            "entrypoint": "true",
            "submissionMode": "HTTPMode",
        }
        meta = {"name": "queued", "namespace": NAMESPACE, "labels": labels}

        job = world.create(kinds.RAYJOBS, {"metadata": meta, "spec": spec})

        assert not job["spec"].get("suspend")
        assert job["spec"]["submissionMode"] == "K8sJobMode"
        assert "kueue.x-k8s.io/queue-name" not in (job["metadata"].get("labels") or {})
        assert world.notes("queued")["local-queue"] == "mine"


@BOTH
async def test_a_deadline_does_not_count_while_the_job_waits(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world:
        job = world.submit("timed", activeDeadlineSeconds=600)
        assert "activeDeadlineSeconds" not in job["spec"]
        assert world.notes("timed")["active-deadline-seconds"] == "600"


@BOTH
async def test_the_default_queue_of_a_namespace_is_no_wish_of_the_job(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world, world.bridge():
        default = {"metadata": {"name": "default", "namespace": NAMESPACE}, "spec": {"clusterQueue": "all"}}
        world.create(kinds.LOCALQUEUES, default)

        world.submit("plain")

        assert "local-queue" not in world.notes("plain")
        await world.until(lambda: world.status("plain") == "SUCCEEDED", what="it runs")


def _gated(world: RaySandbox) -> list[str]:
    return [
        pod["metadata"]["name"]
        for pod in world.storage.list(kinds.PODS, namespace=NAMESPACE)
        if {"name": names.GATE} in (pod["spec"].get("schedulingGates") or [])
    ]


@BOTH
async def test_without_a_bridge_a_job_waits(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world:
        world.submit("held")

        await world.until(lambda: _gated(world), what="its submitter is held")
        assert world.status("held") == ""


@BOTH
async def test_a_job_with_a_cluster_of_its_own_is_left_alone(tmp_path: Path, admission: Admission):
    async with sandbox(tmp_path, admission=admission) as world, world.bridge():
        world.submit("held")
        await world.until(lambda: _gated(world), what="its submitter is held")
        template = world.storage.get(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)["spec"]

        job = world.submit(
            "own", clusterSelector={}, rayClusterSpec=template, suspend=True, shutdownAfterJobFinishes=True
        )

        assert job["spec"]["suspend"] is True
        assert world.notes("own") == {}


async def test_where_nothing_holds_jobs_the_mixing_says_so_and_so_does_a_job_that_came_past(tmp_path: Path):
    async with sandbox(tmp_path) as world:
        unlabelled = {"metadata": {"labels": {names.MANAGED_NAMESPACE: None}}}
        world.storage.patch(kinds.NAMESPACES, "", NAMESPACE, unlabelled)
        async with world.bridge():
            world.submit("loose", seconds=3.0)

            await world.until(lambda: world.notes("loose").get("state") == "Bypassed", what="it is told of")
            await world.until(lambda: "Bypassed" in world.events(), what="an event tells of it")
            await world.until(lambda: world.ray_ready("main") == "NotEnforced", what="the mixing says it")
            await world.until(lambda: world.status("loose") == "SUCCEEDED", what="nobody stops it")
            assert world.jobsets() == []
            assert [job["metadata"]["name"] for job in world.storage.list(kinds.RAYJOBS)] == ["loose"]
