"""Fires every alert once, by its cause, on a real Prometheus; `python -m support.alert_trial` prints how.

Times are shortened: those of the rules, and the bridge's own patience. What is compared stays the same.
"""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.ray import auditor
from k8s_bridge.runtime import loop
from k8s_bridge.sandbox.world import World, WorldConfig
from k8s_bridge.slurm import slurm_health
from k8s_bridge.slurm.poller import doubt
from monitoring.alerts import ALERTS, rules
from support.adversary import bridge, spied
from support.alert_causes import (
    CAUSES,
    Cause,
    somebody_else_holds_the_lease,
    work_on_the_workers_of_another,
)
from support.prometheus import Prometheus, prometheus
from support.promtool import program
from support.ray_sandbox import sandbox

AT_A_TIME = 3
PATIENCE, LOOK = 90.0, 0.2
_QUOTA = {"cpu": "40", "memory": "64Gi", "pods": "100"}
_SHORTER = (
    ("[10m]", "[20s]"),
    ("[30m]", "[60s]"),
    ("> 180", "> 4"),
    ("> 600", "> 3"),
    ("* 600 > 10", "* 20 > 2"),
    (") > 10 unless", ") > 3 unless"),
)


@dataclass(frozen=True, kw_only=True)
class Fired:
    """An alert that fired `seconds` after its cause; `annotations` as people get them."""

    alert: str
    told: str
    seconds: float
    annotations: dict[str, str]


def hastened() -> dict[str, Any]:
    """The rules with times that a test can wait for."""
    found = rules()
    for rule in found["groups"][0]["rules"]:
        rule.pop("keep_firing_for", None)
        rule["for"] = "1s"
        for long, short in _SHORTER:
            rule["expr"] = rule["expr"].replace(long, short)
    return found


async def fire_all(directory: Path) -> list[Fired]:
    """Each alert, in the order of the rules. AssertionError names the one that does not fire."""
    with pytest.MonkeyPatch.context() as patch, spied():
        patch.setattr(slurm_health, "STALE_LEAST", 3.0)
        patch.setattr(doubt, "PATIENCE", 0.5)
        patch.setattr(loop, "WEDGED_SECONDS", 2.0)
        patch.setattr(auditor, "SECONDS", 0.5)
        async with prometheus(directory / "prometheus", rules=hastened()) as server:
            found = [await _absent(directory, server), await _not_leading(directory, server)]
            found += await _ray(directory, server)
            turns = asyncio.Semaphore(AT_A_TIME)

            async def one(cause: Cause) -> Fired:
                async with turns:
                    return await _fired(directory, server, cause)

            found += await asyncio.gather(*map(one, CAUSES))
    order = [alert.name for alert in ALERTS]
    return sorted(found, key=lambda one: order.index(one.alert))


@asynccontextmanager
async def _world(directory: Path, name: str) -> AsyncIterator[World]:
    config = WorldConfig(directory=directory / name, quota=_QUOTA)
    async with World.start(config) as world:
        yield world


async def _absent(directory: Path, server: Prometheus) -> Fired:
    async with _world(directory, "absent") as world:
        async with bridge(world) as process:
            server.scrape("K8sBridgeAbsent", f"127.0.0.1:{process.address.port}")
            await server.until_seen("K8sBridgeAbsent")
            await _silent(server, "K8sBridgeAbsent")
        found = await _told(server, "K8sBridgeAbsent", {}, told="the only instance is ended")
    server.leave("K8sBridgeAbsent")
    return found


async def _not_leading(directory: Path, server: Prometheus) -> Fired:
    async with _world(directory, "lease") as world:
        somebody_else_holds_the_lease(world)
        process = await world.bridge(election="lease")
        server.scrape("K8sBridgeNotLeading", process.address.removeprefix("http://"))
        told = "the lease is held by somebody who does not give it up"
        found = await _told(server, "K8sBridgeNotLeading", {"job": "K8sBridgeNotLeading"}, told=told)
    server.leave("K8sBridgeNotLeading")
    return found


async def _ray(directory: Path, server: Prometheus) -> list[Fired]:
    async with sandbox(directory / "ray") as world:
        async with world.bridge() as process:
            server.scrape("ray", f"127.0.0.1:{process.address.port}")
            await server.until_seen("ray")
            await work_on_the_workers_of_another(world)
            told = "a task of nobody's submission runs on a job's workers"
            leak = await _told(server, "RayBridgeLeak", {"job": "ray"}, told=told)
            await _silent(server, "RayBridgeAbsent")
        absent = await _told(
            server, "RayBridgeAbsent", {}, told="the only instance of the Ray bridge is ended"
        )
    server.leave("ray")
    return [absent, leak]


async def _fired(directory: Path, server: Prometheus, cause: Cause) -> Fired:
    async with _world(directory, cause.alert) as world:
        cause.before(world)
        async with bridge(world, writes=cause.writes()) as process:
            server.scrape(cause.alert, f"127.0.0.1:{process.address.port}")
            await server.until_seen(cause.alert)
            await asyncio.wait_for(cause.make(world), PATIENCE)
            found = await _told(server, cause.alert, {"job": cause.alert}, told=cause.told)
    server.leave(cause.alert)
    return found


async def _told(server: Prometheus, alert: str, labels: dict[str, str], *, told: str) -> Fired:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        for one in await _firing(server, alert):
            if labels.items() <= one["labels"].items():
                seconds = time.monotonic() - began
                return Fired(alert=alert, told=told, seconds=seconds, annotations=one["annotations"])
        await asyncio.sleep(LOOK)
    raise AssertionError(f"{alert} does not fire within {PATIENCE:.0f} s though {told}")


async def _silent(server: Prometheus, alert: str) -> None:
    began = time.monotonic()
    while await _firing(server, alert):
        assert time.monotonic() - began < PATIENCE, f"{alert} does not end"
        await asyncio.sleep(LOOK)


async def _firing(server: Prometheus, alert: str) -> list[dict[str, Any]]:
    return [one for one in await server.firing() if one["labels"]["alertname"] == alert]


def table(found: Iterable[Fired]) -> str:
    """Markdown."""
    rows = [
        f"| {one.alert} | {one.told} | {one.seconds:.0f} s | {one.annotations['summary']} |" for one in found
    ]
    return "\n".join(["| alert | cause | fired after | told |", "| --- | --- | --- | --- |", *rows])


def main() -> None:
    """Print when and on what it was tried, and the table."""
    said = subprocess.run([program("prometheus"), "--version"], capture_output=True, text=True, check=True)
    release = (said.stdout + said.stderr).split()[2]
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(fire_all(Path(folder)))
    now = datetime.now(UTC)
    where = f"Prometheus {release}, Python {platform.python_version()}, the sandbox with fake Slurm"
    sys.stdout.write(f"{now:%Y-%m-%d}: {where}\n\n{table(found)}\n")


if __name__ == "__main__":
    main()
