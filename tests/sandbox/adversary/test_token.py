"""A token that is of no use any more while jobs run: it is said, nothing is lost, and it heals by itself."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from support.adversary import all_well, bridge, side_by_side, until

from k8s_bridge.runtime.process import Process
from k8s_bridge.sandbox.apiserver.kinds import EVENTS
from k8s_bridge.sandbox.slurm_fake.cluster import ROOT
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from k8s_bridge.slurm import reporter

Spoil = Callable[[World], None]
EXPIRED = -60


def expire(world: World) -> None:
    world.write_token(world.slurm.slurm.mint(ROOT, lifetime=EXPIRED))  # type: ignore[attr-defined]


SPOILED: Mapping[str, Spoil] = {
    "garbage": lambda world: world.write_token("#!/bin/sh\nscontrol token"),
    "empty": lambda world: world.write_token(""),
    "somebody else's": lambda world: world.write_token("eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJyb290In0.d3Jvbmc"),
    "expired": expire,
    "gone": lambda world: world.slurm.token_file.unlink(),
}


async def tell(spoil: Spoil, directory: Path) -> None:
    async with (
        World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world,
        bridge(world) as process,
    ):
        good = world.slurm.token_file.read_text()
        runs = await world.sbatch(JobRequest(ntasks=8, seconds=4.0))
        await world.until_state(runs, "RUNNING")
        waits = await world.sbatch(JobRequest(ntasks=2, seconds=0.2))
        await world.until(lambda: world.workload(waits), what="the second waits for quota")
        spoil(world)
        for condition in ("TokenValid", "Ready"):
            await says(world, condition, "False")
        await until(lambda: "TokenValid: " in warnings(world), what="an event says so")
        if spoil is expire:
            await until(lambda: 0 < expiry(process) < time.time(), what="so does the metric")
        world.write_token(good)
        await says(world, "TokenValid", "True")
        await until(lambda: expiry(process) > time.time(), what="the metric tells of the new one")
        await all_well(world, runs, waits)
        assert world.jobs[runs].restarts == 0


def expiry(process: Process) -> float:
    """Unix seconds of k8s_bridge_token_expiry_timestamp_seconds; 0 where there is none."""
    found = re.search(r"^k8s_bridge_token_expiry\S+ (\S+)$", process._metrics.text().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


async def says(world: World, condition: str, status: str) -> None:
    await world.until(
        lambda: (world.mixing_condition(condition) or {}).get("status") == status,
        what=f"{condition} is {status}",
    )


def warnings(world: World) -> str:
    events = world.storage.list(EVENTS, namespace=NAMESPACE)
    of_mixing = [event for event in events if event["involvedObject"]["name"] == MIXING]
    return "\n".join(event["message"] for event in of_mixing if event["type"] == "Warning")


@pytest.mark.timeout(200)
async def test_a_token_that_is_spoiled_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reporter, "SECONDS", 0.2)
    await side_by_side(
        {name: partial(tell, spoil, tmp_path / str(i)) for i, (name, spoil) in enumerate(SPOILED.items())}
    )
