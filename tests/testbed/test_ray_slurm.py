"""Both bridges as one release installs them, on one queue with Kubernetes Jobs: nothing is lost."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import pytest_asyncio
from support.e2e.life import running

from k8s_bridge.ray import names
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.world import JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import HIGH, LOW, TEAM_A, TEAM_B, URGENT
from k8s_bridge.sandbox.world.config import NAMESPACE as TEAMS
from testbed import bridge_image, chart, ray_bridge
from testbed.control import kubectl
from testbed.kubectl_bridge import in_pod, kubectl_bridge
from testbed.ray_bridge import items, job, notes, status, submit
from testbed.ray_cluster import NAMESPACE, RayCluster
from testbed.ray_entrypoints import sleeping, until_preempted
from testbed.shell import Failed, say

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]

HOME = "both"
RELEASE = chart.Release("both", namespace=HOME)
BLOCKER, WORKLOADS = "blocker", "workloads.kueue.x-k8s.io"
QUOTA = {"cpu": "2", "memory": "8Gi", "pods": "20"}
POOL = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "pool", "namespace": NAMESPACE},
    "spec": {"clusterQueue": "shared"},
}
"""The inner jobs' way into the queue of the Slurm jobs; the shared cluster has a queue of its own."""
LEFT = (TEAMS, "workloadmixings"), (TEAMS, "jobsets"), (NAMESPACE, "rayjobs"), (NAMESPACE, "jobsets")


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    """Defaults but for places; the WorkloadMixing is added when there is a Slurm."""
    return {
        **chart.VALUES,
        "image": {"repository": bridge_image.REPOSITORY, "tag": bridge_image.load()},
        "rayBridge": {"enabled": True, "namespaces": [NAMESPACE]},
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(make_config: Callable[..., WorldConfig], values: dict[str, Any]) -> AsyncIterator[World]:
    async with World.start(make_config(quota=QUOTA)) as world:
        values["workloadMixings"] = [chart.mixing_of(world)]
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(world: World, values: dict[str, Any]) -> AsyncIterator[RayCluster]:
    """A shared one, beside which the release holds its jobs."""

    @contextmanager
    def release() -> Iterator[None]:
        RELEASE.make_home()
        try:
            RELEASE.install(values)
            yield
        finally:
            RELEASE.keep_logs()
            RELEASE.uninstall()

    beside = ray_bridge.beside_a_cluster(held=release, objects=(POOL,), localQueue="pool")
    found = await asyncio.to_thread(beside.__enter__)
    try:
        yield found
    finally:
        await asyncio.to_thread(beside.__exit__, None, None, None)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lasting(cluster: RayCluster) -> str:
    """An inner job that runs on and on."""
    await asyncio.to_thread(submit, "lasting", sleeping(600))
    await until("the inner job runs", lambda: status("lasting") == "RUNNING")
    return "lasting"


async def until(what: str, holds: Callable[[], Any], *, seconds: float = 400.0) -> float:
    """Wait for something that kubectl shows; when it came."""
    await asyncio.to_thread(ray_bridge.wait, what, holds, seconds=seconds)
    return time.monotonic()


async def test_the_release_passes_its_own_test(cluster: RayCluster):
    await asyncio.to_thread(RELEASE.test)


async def test_the_doctor_finds_nothing_wrong_and_then_what_is_set_wrongly(world: World, cluster: RayCluster):
    conf = await world.slurm.slurm.scontrol("show", "config")  # type: ignore[union-attr]

    def from_outside() -> tuple[int, set[str]]:
        words = ("doctor", "slurm", "--namespace", TEAMS, "--slurm-config", "-")
        return wrong(kubectl_bridge(*words, stdin=conf))

    def within(deployment: str, *words: str) -> tuple[int, set[str]]:
        return wrong(in_pod(f"deploy/{deployment}", "doctor", *words, namespace=HOME))

    def of_ray() -> tuple[int, set[str]]:
        return within("both-k8s-bridge-ray", "ray", "--namespace", NAMESPACE)

    await world.until(lambda: is_ready(world), what="the WorkloadMixing is ready")
    assert await asyncio.to_thread(from_outside) == (0, set())
    assert await asyncio.to_thread(within, "both-k8s-bridge", "--namespace", TEAMS) == (0, set())
    assert await asyncio.to_thread(of_ray) == (0, set())

    label = ("label", "namespace", NAMESPACE, "--overwrite")
    stop_queue("Hold")
    kubectl(*label, f"{names.MANAGED_NAMESPACE}-")
    try:
        code, slurm = await asyncio.to_thread(from_outside)
        assert (code, slurm - {"served"}) == (5, {"queues"})
        assert await asyncio.to_thread(of_ray) == (5, {"ray-enforced"})
    finally:
        stop_queue("None")
        kubectl(*label, f"{names.MANAGED_NAMESPACE}=true")
    await world.until(lambda: is_ready(world), what="the WorkloadMixing is ready again")


def wrong(answer: tuple[int, Any]) -> tuple[int, set[str]]:
    """The exit code, and the checks that found something wrong."""
    code, told = answer
    bad = [one for one in told if one["verdict"] == "wrong"]
    say(f"doctor: {len(told)} results, wrong: {bad}")
    return code, {one["check"] for one in bad}


def stop_queue(policy: str) -> None:
    patch = f'--patch={{"spec": {{"stopPolicy": "{policy}"}}}}'
    kubectl("-n", TEAMS, "patch", "localqueue", TEAM_B, "--type=merge", patch)


def is_ready(world: World) -> bool:
    found = world.mixing_condition("Ready")
    return bool(found) and found["status"] == "True"


class Admissions:
    """When Kueue admitted whom, as is seen while one looks: Workloads go with what they are for."""

    def __init__(self) -> None:
        self.of: dict[str, tuple[int, str]] = {}
        """By owner: its priority, and the API server's time of its admission."""
        self.waiting: set[str] = set()

    def look(self) -> None:
        self.waiting.clear()
        for workload in json.loads(kubectl("get", WORKLOADS, "--all-namespaces", "-o", "json"))["items"]:
            owner = workload["metadata"]["ownerReferences"][0]["name"]
            ours = workload["metadata"]["namespace"] in (TEAMS, NAMESPACE)
            if not ours or workload["spec"]["queueName"] == "ray" or owner == BLOCKER:
                continue
            found = {each["type"]: each for each in workload.get("status", {}).get("conditions", ())}
            if found.get("Admitted", {}).get("status") == "True":
                at = found["Admitted"]["lastTransitionTime"]
                self.of.setdefault(owner, (workload["spec"]["priority"], at))
            else:
                self.waiting.add(owner)

    def pending(self) -> int:
        self.look()
        return len(self.waiting)

    def admitted(self) -> int:
        self.look()
        return len(self.of)


async def test_four_jobs_of_three_kinds_share_what_fits_two_in_the_order_of_their_priority(
    world: World, cluster: RayCluster
):
    """All four wait behind another, which then goes."""
    seen = Admissions()
    world.submit_job(BLOCKER, queue=TEAM_A, priority=HIGH, cpus=2, seconds=600.0)
    await until("the queue is full", lambda: used() >= {"2"})
    await asyncio.to_thread(submit, "patient", sleeping(3))
    world.submit_job("plain", queue=TEAM_A, priority=LOW, cpus=1, seconds=3.0)
    slurm = await world.sbatch(JobRequest(ntasks=1, seconds=3.0))
    await asyncio.to_thread(submit, "pressing", sleeping(3), notes={"pool": "urgent"})
    await until("all four wait in Kueue", lambda: seen.pending() == 4)
    assert seen.of == {}

    kubectl("-n", TEAMS, "delete", "job", BLOCKER, "--wait=false")

    await until("all four were admitted", lambda: seen.admitted() == 4)
    await world.until_state(slurm, "COMPLETED", seconds=120)
    await world.until(lambda: (found := world.plain("plain")) and found.state == "Complete", what="the Job")
    for name in ("pressing", "patient"):
        await until(f"{name} succeeds", lambda name=name: status(name) == "SUCCEEDED")
    await until("nothing is used", lambda: used() <= {"0"})

    say(f"admitted: {seen.of}")
    times = [at for _, at in sorted(seen.of.values(), key=lambda one: (-one[0], one[1]))]
    assert len({priority for priority, _ in seen.of.values()}) == 3
    assert times == sorted(times)
    assert times[0] < times[-1]


def used() -> set[str]:
    (flavor,) = ray_bridge.ray_cluster.get("clusterqueue", "shared")["status"]["flavorsUsage"]
    return {each["total"] for each in flavor["resources"]}


async def test_a_slurm_job_of_higher_priority_preempts_an_inner_job_which_runs_again(
    world: World, cluster: RayCluster
):
    await asyncio.to_thread(submit, "victim", until_preempted(), notes={"workers": "2"})
    await until("the inner job runs", lambda: status("victim") == "RUNNING")

    began = time.monotonic()
    urgent = await world.sbatch(JobRequest(partition=URGENT, ntasks=1, seconds=5.0))
    evicted = await until("it is requeued", lambda: notes("victim").get("requeues") == "1")
    await world.until_state(urgent, "RUNNING", seconds=60)
    started = time.monotonic()
    await world.until_state(urgent, "COMPLETED", seconds=60)
    over = time.monotonic()
    end = await until("it succeeds", lambda: status("victim") == "SUCCEEDED")

    stages = {"evicted": evicted, "Slurm runs": started, "Slurm over": over, "end": end}
    say(", ".join(f"{name} {at - began:.1f} s" for name, at in stages.items()))
    assert "attempt 2" in cluster.logs(job("victim")["status"]["jobId"])
    await until("nothing is used", lambda: used() <= {"0"})


async def test_people_see_jobs_of_both_kinds_and_an_upgrade_to_the_webhook_leaves_them_alone(
    world: World, values: dict[str, Any], lasting: str
):
    job_id = await running(world, ntasks=1)
    submission, pods = job(lasting)["status"]["jobId"], RELEASE.pods()
    expected = {(str(job_id), "Running"), (f"{NAMESPACE}/{lasting}", "Running")}
    await until("top shows both as running", lambda: expected <= seen_by_people(), seconds=60)
    assert kubectl_bridge("explain", str(job_id), "--namespace", HOME)[0] == 0

    changed = values | {
        "slurmBridge": values["slurmBridge"] | {"workers": 4},
        "rayBridge": values["rayBridge"] | {"workers": 4, "admission": "webhook"},
    }
    await asyncio.to_thread(RELEASE.upgrade, changed)

    assert not pods & RELEASE.pods()
    assert not [name for name in RELEASE.left() if "admissionpolic" in name]
    await until("both are known to the new pods", lambda: expected <= seen_by_people(), seconds=60)
    assert world.jobs[job_id].running
    assert world.jobs[job_id].restarts == 0
    assert (status(lasting), job(lasting)["status"]["jobId"]) == ("RUNNING", submission)
    assert "requeues" not in notes(lasting)
    with pytest.raises(Failed, match=r"check\.ray-bridge"):
        submit("bad", backoffLimit=1)
    await world.scancel(job_id)
    await world.until(
        lambda: not world.jobs[job_id].running and not world.of_job(JOBSETS, job_id), what="it is given back"
    )


def seen_by_people() -> set[tuple[str, str]]:
    """Name and state of every job that one of the bridges knows."""
    _, rows = kubectl_bridge("top", "--namespace", HOME)
    return {(row["name"], row["state"]) for row in rows}


async def test_uninstalling_leaves_running_jobs_and_nothing_else(world: World, lasting: str):
    job_id = await running(world, ntasks=1)

    await asyncio.to_thread(RELEASE.uninstall)

    assert RELEASE.left() == []
    assert [found for place in LEFT for found in finalizers(*place) if "-bridge" in found] == []
    assert world.jobs[job_id].running
    assert world.of_job(JOBSETS, job_id)
    assert status(lasting) == "RUNNING"
    assert items("jobsets")
    await world.scancel(job_id)
    kubectl("-n", TEAMS, "delete", "jobsets", "--all", "--timeout=60s")


def finalizers(namespace: str, kind: str) -> list[str]:
    found = json.loads(kubectl("-n", namespace, "get", kind, "-o", "json"))["items"]
    return [one for obj in found for one in obj["metadata"].get("finalizers", ())]
