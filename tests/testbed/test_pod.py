"""The bridge as the chart installs it: two pods of its own image, where Pod Security is restricted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.e2e.keeper import quiet
from support.e2e.life import running

from k8s_bridge.core.naming import DRAIN_FINALIZER
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import HIGH, MIXING, NAMESPACE, TEAM_B
from testbed import bridge_image, chart
from testbed.control import kubectl

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.testbed, pytest.mark.timeout(600)]

HOME = "bridge-pods"
RELEASE = chart.Release("pods", namespace=HOME)
OTHER = "other"
DEFINITION = "workloadmixings.k8s-bridge.x-k8s.io"


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    """As everywhere in the testbed; the WorkloadMixing is added when there is a Slurm."""
    return {**chart.VALUES, "image": {"repository": bridge_image.REPOSITORY, "tag": bridge_image.load()}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(make_config: Callable[..., WorldConfig], values: dict[str, Any]) -> AsyncIterator[World]:
    async with World.start(make_config()) as world:
        values["workloadMixings"] = [chart.mixing_of(world)]
        RELEASE.make_home()
        try:
            await asyncio.to_thread(RELEASE.install, values)
            yield world
        finally:
            RELEASE.keep_logs()
            await asyncio.to_thread(RELEASE.uninstall)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def everything_is_given_back(world: World) -> AsyncIterator[None]:
    yield
    await quiet(world)


async def test_the_release_passes_its_own_test():
    await asyncio.to_thread(RELEASE.test)


async def test_a_job_runs_and_its_mixing_is_ready(world: World):
    job_id = await world.sbatch(JobRequest(nodes="2", ntasks=4, seconds=0.5))

    assert (await world.until_state(job_id, "COMPLETED")).restarts == 0
    await world.until(
        lambda: (ready := world.mixing_condition("Ready")) and ready["status"] == "True",
        what="the WorkloadMixing is ready",
    )


async def test_people_see_on_the_leader_where_a_job_stands(world: World):
    job_id = await running(world)

    rows = json.loads(kubectl("-n", HOME, "exec", leader(), "--", "k8s-bridge", "top", "-o", "json"))

    assert [(row["name"], row["state"]) for row in rows] == [(str(job_id), "Running")]
    await world.scancel(job_id)


async def test_a_kubernetes_job_preempts_a_slurm_job_which_runs_again(world: World):
    job_id = await world.sbatch(JobRequest(ntasks=6, seconds=5.0))
    await world.until_state(job_id, "RUNNING")

    world.submit_job("urgent-report", queue=TEAM_B, priority=HIGH, cpus=4, seconds=0.5)

    assert (await world.until_state(job_id, "COMPLETED", seconds=60)).restarts == 1


def delete(pod: str) -> None:
    kubectl("-n", HOME, "delete", "pod", pod, "--wait=false")


def kill(pod: str) -> None:
    """Without a word: its lease is not given back."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"HOSTNAME={pod}".encode() in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)


@pytest.mark.parametrize("end", [delete, kill])
async def test_another_process_takes_over_a_running_job(world: World, end: Callable[[str], None]):
    job_id = await running(world)
    before = RELEASE.holder()

    end(leader())

    later = await world.sbatch(JobRequest(seconds=0.3))
    assert (await world.until_state(later, "COMPLETED", seconds=60)).restarts == 0
    assert RELEASE.holder() not in ("", before)
    assert world.jobs[job_id].running
    assert world.jobs[job_id].restarts == 0
    await world.scancel(job_id)


async def test_an_upgrade_leaves_a_running_job_alone_and_renews_the_definition(
    world: World, values: dict[str, Any]
):
    job_id = await running(world)
    before = RELEASE.pods()
    kubectl(
        "patch",
        "crd",
        DEFINITION,
        "--type=json",
        "-p",
        '[{"op": "remove", "path": "/spec/names/shortNames"}]',
    )

    await asyncio.to_thread(
        RELEASE.upgrade, values | {"slurmBridge": {**values["slurmBridge"], "workers": 4}}
    )

    assert not before & RELEASE.pods()
    assert kubectl("get", "crd", DEFINITION, "-o", "jsonpath={.spec.names.shortNames[0]}") == "wm"
    later = await world.sbatch(JobRequest(seconds=0.3))
    assert (await world.until_state(later, "COMPLETED", seconds=60)).restarts == 0
    assert world.jobs[job_id].running
    assert world.jobs[job_id].restarts == 0
    await world.scancel(job_id)


async def test_uninstalling_leaves_running_jobs_and_nothing_of_the_bridge(
    world: World, values: dict[str, Any]
):
    _somebody_elses_mixing(world, values)
    await world.until(
        lambda: finalizers(world, OTHER) == [DRAIN_FINALIZER], what="the other one has a finalizer"
    )
    job_id = await running(world)

    await asyncio.to_thread(RELEASE.uninstall)

    assert RELEASE.left() == []
    await world.until(lambda: finalizers(world, OTHER) == [], what="the other one has no finalizer any more")
    assert world.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING) is None
    assert world.jobs[job_id].running
    assert world.of_job(JOBSETS, job_id)
    world.delete(WORKLOADMIXINGS, OTHER)
    await asyncio.to_thread(RELEASE.install, values)
    await world.scancel(job_id)


async def test_uninstalling_waits_for_running_jobs_where_the_mixing_says_drain(
    world: World, values: dict[str, Any]
):
    (mixing,) = values["workloadMixings"]
    draining = mixing | {"spec": mixing["spec"] | {"deletionPolicy": "Drain"}}
    await asyncio.to_thread(RELEASE.upgrade, values | {"workloadMixings": [draining]})
    await world.until(
        lambda: finalizers(world, MIXING) == [DRAIN_FINALIZER], what="the mixing has a finalizer"
    )
    job_id = await world.sbatch(JobRequest(seconds=5.0))
    await world.until_state(job_id, "RUNNING")

    await asyncio.to_thread(RELEASE.uninstall)

    assert (await world.until_state(job_id, "COMPLETED")).restarts == 0
    assert world.of_job(JOBSETS, job_id) == []
    assert world.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING) is None


def _somebody_elses_mixing(world: World, values: dict[str, Any]) -> None:
    """One that the release does not know, for a partition that there is not."""
    (mixing,) = values["workloadMixings"]
    mapping = {"partitionName": "elsewhere", "workloadPriorityClass": HIGH}
    spec = mixing["spec"] | {"deletionPolicy": "Drain", "partitionMappings": [mapping]}
    world.storage.create(WORKLOADMIXINGS, {"metadata": {"name": OTHER}, "spec": spec})


def finalizers(world: World, name: str) -> list[str]:
    found = world.storage.find(WORKLOADMIXINGS, NAMESPACE, name) or {"metadata": {}}
    return list(found["metadata"].get("finalizers") or ())


def leader() -> str:
    """The pod that leads."""
    return RELEASE.holder().partition("_")[0]
