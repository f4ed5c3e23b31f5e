"""`k8s-bridge hook`, as the chart's Jobs run it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from k8s_bridge.cli.main import main
from k8s_bridge.core.naming import DRAIN_FINALIZER
from k8s_bridge.sandbox.apiserver.faults import Answer, Rule
from k8s_bridge.sandbox.apiserver.kinds import NAMESPACES, WORKLOADMIXINGS
from k8s_bridge.sandbox.apiserver.kubeconfig import write_kubeconfig
from k8s_bridge.sandbox.world import WorldConfig, objects


@pytest.fixture
def hook(server, storage, tmp_path, monkeypatch):
    for namespace in ("hpc", "elsewhere"):
        storage.create(NAMESPACES, {"metadata": {"name": namespace}})
    write_kubeconfig(server, tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["hook", *words])

    return lambda *words: asyncio.to_thread(run, *words)


def create(storage, namespace: str, name: str, *finalizers: str) -> None:
    config = WorldConfig(directory=Path(), spec={"deletionPolicy": "Drain"})
    kind, mixing = objects.mixing(config, rest_url="http://slurm:6820", token_file="/token")
    meta = {"namespace": namespace, "name": name, "finalizers": list(finalizers)}
    storage.create(kind, mixing | {"metadata": meta})


async def test_farewell_takes_off_our_finalizer_only_and_only_where_it_is_told_to(hook, storage):
    create(storage, "hpc", "mine", DRAIN_FINALIZER, "example.com/other")
    create(storage, "hpc", "going", DRAIN_FINALIZER)
    create(storage, "elsewhere", "not-ours", DRAIN_FINALIZER)
    storage.delete(WORKLOADMIXINGS, "hpc", "going")

    result = await hook("farewell", "hpc")

    assert result.exit_code == 0, result.output
    left = {
        mixing["metadata"]["name"]: mixing["metadata"].get("finalizers")
        for mixing in storage.list(WORKLOADMIXINGS)
    }
    assert left == {"mine": ["example.com/other"], "not-ours": [DRAIN_FINALIZER]}


async def test_drain_ends_when_the_bridge_has_let_go(hook, storage):
    create(storage, "hpc", "main", DRAIN_FINALIZER)
    draining = asyncio.create_task(hook("drain", "hpc/main", "hpc/never-was"))
    async with asyncio.timeout(30):
        while "deletionTimestamp" not in storage.get(WORKLOADMIXINGS, "hpc", "main")["metadata"]:  # noqa: ASYNC110 - another thread
            await asyncio.sleep(0.01)
    assert not draining.done()

    storage.patch(WORKLOADMIXINGS, "hpc", "main", {"metadata": {"finalizers": None}})

    result = await asyncio.wait_for(draining, 30)
    assert result.exit_code == 0, result.output
    assert result.output == "hpc/main: deletionPolicy Drain; waiting until it is gone\n"


async def test_a_refusal_is_said_and_the_job_fails(hook, server):
    server.faults.add(Rule(fault=Answer(code=403, reason="Forbidden", message="not yours")))

    result = await hook("farewell", "hpc")

    assert result.exit_code == 1
    assert "not yours" in result.output
