"""What people can ask the bridge about inner jobs."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from support.ray_sandbox import CLUSTER, NAMESPACE, RaySandbox, sandbox

from k8s_bridge.ray import auditor
from k8s_bridge.sandbox.apiserver import kinds


async def test_a_waiting_job_is_shown_and_explained_and_counted(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge() as process:
        world.submit("first", notes={"workers": "3"}, seconds=30.0)
        world.submit("second", notes={"workers": "3", "worker-memory": "2Gi"})
        await world.until(lambda: world.notes("second").get("state") == "Queued", what="it waits")

        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{process.address.port}") as client:
            rows = {row["name"]: row for row in (await client.get("/debug/units")).json()}
            (detail,) = (await client.get(f"/debug/units/{NAMESPACE}%2Fsecond")).json()
            metrics = (await client.get("/metrics")).text

        second = rows[f"{NAMESPACE}/second"]
        assert (second["kind"], second["state"], second["queue"]) == ("RayJob", "Queued", "science")
        assert "insufficient unused quota" in second["text"]
        assert detail["facts"]["asks for"] == "3 worker(s) of 1 CPU(s), 2048 MiB"
        assert detail["next_step"] == "Kueue admits its Workload"
        assert (
            f'ray_bridge_units{{partition="",queue="",state="Queued",workloadmixing="{NAMESPACE}/main"}} 1.0'
            in metrics
        )
        assert "k8s_bridge_" not in metrics
        assert f'ray_bridge_held_jobs{{workloadmixing="{NAMESPACE}/main"}} 1.0' in metrics
        assert f'ray_bridge_wedged{{workloadmixing="{NAMESPACE}/main"}} 0.0' in metrics
        assert (
            f'ray_bridge_oldest_unit_age_seconds{{state="Queued",workloadmixing="{NAMESPACE}/main"}}'
            in metrics
        )


async def test_drivers_on_another_jobs_workers_are_told_of_and_never_its_own_not_even_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(auditor, "SECONDS", 0.05)
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("host", seconds=60.0)
        await world.until(lambda: world.status("host") == "RUNNING", what="it runs")
        before = world.controllers.ray.at(NAMESPACE, CLUSTER)
        world.storage.delete(kinds.PODS, NAMESPACE, world.head(), grace_seconds=0)
        await world.until(
            lambda: world.controllers.ray.at(NAMESPACE, CLUSTER) not in (before, None), what="a new head"
        )
        await world.until(lambda: "RUNNING" in world.submissions().values(), what="it runs again")

        head = world.controllers.ray.at(NAMESPACE, CLUSTER)
        assert head is not None
        head.submit({"entrypoint": "sleep 60", "submission_id": "stranger", "entrypoint_num_cpus": 0.1})

        await world.until(lambda: told(world), what="the stranger is told of")
        assert told(world) == {"driver of stranger runs on this job's workers"}


WRONG = {
    "queue": ({"local-queue": "nosuch"}, "LocalQueueMissing: LocalQueue science/nosuch"),
    "topology": ({"required-topology": "no.such/level"}, "TopologyLevelMissing: "),
    "class": ({"pool": "classless"}, "PriorityClassMissing: WorkloadPriorityClass nosuch"),
}


async def test_what_a_job_can_never_be_admitted_by_is_named_on_the_job_and_on_the_mixing(tmp_path: Path):
    pools = [
        {"pool": "default", "workloadPriorityClass": "low"},
        {"pool": "classless", "workloadPriorityClass": "nosuch"},
    ]
    clusters = [{"name": CLUSTER}, {"name": "absent"}]
    async with sandbox(tmp_path, poolMappings=pools, managedClusters=clusters) as world, world.bridge():
        for name, (notes, _) in WRONG.items():
            world.submit(name, notes=notes)

        for name, (_, said) in WRONG.items():
            await world.until(
                lambda name=name, said=said: said in world.notes(name).get("message", ""), what=said
            )
            assert world.status(name) == ""
        both = ("RayCluster science/absent does not exist", "WorkloadPriorityClass nosuch does not exist")
        await world.until(lambda: all(one in said_of(world) for one in both), what="the mixing says it, too")


def said_of(world: RaySandbox) -> str:
    """The message of the condition RayReady."""
    status = world.storage.get(kinds.WORKLOADMIXINGS, NAMESPACE, "main").get("status") or {}
    return next((one["message"] for one in status.get("conditions", ()) if one["type"] == "RayReady"), "")


async def test_an_intruder_is_stopped_where_that_is_wanted_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(auditor, "SECONDS", 0.05)
    async with sandbox(tmp_path, leakAudit="kill") as world, world.bridge():
        world.submit("host", seconds=2.0)
        await world.until(lambda: world.status("host") == "RUNNING", what="it runs")
        head = world.controllers.ray.at(NAMESPACE, CLUSTER)
        assert head is not None

        head.submit({"entrypoint": "sleep 60", "submission_id": "stranger", "entrypoint_num_cpus": 0.1})

        await world.until(
            lambda: world.submissions()["stranger"] == "STOPPED", what="the stranger is stopped"
        )
        assert told(world) == {"driver of stranger runs on this job's workers"}
        await world.until(lambda: world.status("host") == "SUCCEEDED", what="the job runs on")


def told(world: RaySandbox) -> set[str]:
    """The texts of all events of leaks."""
    found = world.storage.list(kinds.EVENTS, namespace=NAMESPACE)
    return {event["message"] for event in found if event["reason"] == "Leak"}
