"""Slurm comes back without its state: nothing is deleted, however the loss comes to light."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.adversary import bridge, until
from support.alert_causes import running, slurm

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS
from k8s_bridge.sandbox.world import World, WorldConfig
from k8s_bridge.sandbox.world.config import NAMESPACE
from k8s_bridge.slurm.poller import doubt

JOBS = 8
QUOTA = {"cpu": "40", "memory": "64Gi", "pods": "100"}
A_WHILE = 3.0
"""Seconds, and as many polls: without the guard all is gone in one."""


def names(world: World) -> set[str]:
    found = [
        *world.storage.list(JOBSETS, namespace=NAMESPACE),
        *world.storage.list(PODS, namespace=NAMESPACE),
    ]
    return {one["metadata"]["name"] for one in found}


async def test_no_jobset_and_no_pod_goes_when_slurmctld_has_lost_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(doubt, "PATIENCE", 0.5)
    async with (
        World.start(WorldConfig(directory=tmp_path / "world", quota=QUOTA)) as world,
        bridge(world) as process,
    ):
        await running(world, JOBS)
        before = names(world)

        slurm(world).stop_controller()
        slurm(world).start_controller(clean=True)

        (reading,) = (read for read in process._metrics.gauges._readings.values())
        await until(lambda: reading().guarded, what="the guard refuses", seconds=60)
        await asyncio.sleep(A_WHILE)
        assert names(world) == before
        assert reading().guarded
        ready = world.mixing_condition("Ready")
        assert ready
        assert ready["reason"] == "MassDeletionRefused"
