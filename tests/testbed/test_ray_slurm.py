"""Slurm jobs, inner RayJobs and Kubernetes Jobs in one queue: nothing is lost, everything is given back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import HIGH, LOW, TEAM_A, URGENT
from k8s_bridge.sandbox.world.config import NAMESPACE as TEAMS
from testbed import ray_bridge
from testbed.control import kubectl
from testbed.ray_bridge import Bridge, job, notes, status, submit
from testbed.ray_cluster import NAMESPACE
from testbed.ray_entrypoints import sleeping, until_preempted
from testbed.shell import say

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(900), pytest.mark.asyncio]

BLOCKER, WORKLOADS = "blocker", "workloads.kueue.x-k8s.io"
QUOTA = {"cpu": "2", "memory": "8Gi", "pods": "20"}
POOL = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "pool", "namespace": NAMESPACE},
    "spec": {"clusterQueue": "shared"},
}
"""The inner jobs' way into the queue of the Slurm jobs; the shared cluster has a queue of its own."""


@asynccontextmanager
async def both(make_world: Callable[..., Any], log: Path) -> AsyncIterator[tuple[World, Bridge]]:
    """A world with its Slurm bridge, and the Ray bridge beside it."""
    async with make_world(quota=QUOTA) as world:
        await world.bridge()
        running = ray_bridge.running(log, objects=(POOL,), localQueue="pool")
        bridge = await asyncio.to_thread(running.__enter__)
        try:
            yield world, bridge
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)


async def until(what: str, holds: Callable[[], Any], *, seconds: float = 400.0) -> float:
    """Wait for something that kubectl shows; when it came."""
    await asyncio.to_thread(ray_bridge.wait, what, holds, seconds=seconds)
    return time.monotonic()


async def test_a_slurm_job_of_higher_priority_preempts_an_inner_job_which_runs_again(make_world, tmp_path):
    async with both(make_world, tmp_path / "ray.log") as (world, bridge):
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
        assert "attempt 2" in bridge.cluster.logs(job("victim")["status"]["jobId"])


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
    make_world, tmp_path
):
    """All four wait behind another, which then goes."""
    async with both(make_world, tmp_path / "ray.log") as (world, _):
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
        await world.until(
            lambda: (found := world.plain("plain")) and found.state == "Complete", what="the Job"
        )
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
