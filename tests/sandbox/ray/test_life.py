"""Inner jobs in the sandbox: held, given workers of their own, run, and everything given back."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ray_sandbox import CLUSTER, NAMESPACE, sandbox

from k8s_bridge.ray import names
from k8s_bridge.sandbox.apiserver import kinds


async def test_a_job_is_held_runs_on_workers_of_its_own_and_gives_them_back(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        before = world.used()
        world.submit("life", notes={"workers": "2"})

        await world.until(lambda: world.status("life") == "SUCCEEDED", what="it succeeds")
        await world.until(lambda: not world.jobsets() and world.used() == before, what="all is given back")

        assert world.notes("life")["state"] == "Finished"


@pytest.mark.parametrize("named", [{"generateName": "run-"}, {"name": "n" * 47}], ids=str)
async def test_a_job_may_be_named_by_the_api_server_or_at_length(tmp_path: Path, named: dict[str, str]):
    async with sandbox(tmp_path) as world, world.bridge():
        before = world.used()
        spec = {"clusterSelector": {names.CLUSTER_SELECTOR: CLUSTER}, "entrypoint": "sleep 0.2"}
        made = world.create(kinds.RAYJOBS, {"metadata": named | {"namespace": NAMESPACE}, "spec": spec})
        name = made["metadata"]["name"]

        await world.until(lambda: world.status(name) == "SUCCEEDED", what="it succeeds")
        await world.until(lambda: not world.jobsets() and world.used() == before, what="all is given back")
        assert name.startswith(next(iter(named.values())))


async def test_a_job_that_is_preempted_waits_and_runs_again(tmp_path: Path):
    async with sandbox(tmp_path) as world, world.bridge():
        world.submit("victim", notes={"workers": "3"}, seconds=2.0)
        await world.until(lambda: world.status("victim") == "RUNNING", what="it runs")

        world.submit_plain("urgent", cpus=2, seconds=1.0)

        await world.until(lambda: world.notes("victim").get("requeues") == "1", what="it is requeued")
        await world.until(lambda: world.status("victim") == "SUCCEEDED", what="it succeeds", seconds=60)
        await world.until(lambda: not world.jobsets(), what="all is given back")
        assert "Preempted" in world.events()
