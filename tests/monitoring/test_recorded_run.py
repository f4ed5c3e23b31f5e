"""A run in the sandbox, scraped by a real Prometheus: every panel shows something."""

from __future__ import annotations

import asyncio
import math
import re
from pathlib import Path

import pytest
from support.prometheus import Prometheus, prometheus
from support.ray_sandbox import sandbox

from k8s_bridge.sandbox.world import JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import URGENT
from monitoring.dashboards import DASHBOARDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

LOOKS = 240
EXPRESSIONS = {
    (dashboard.name, panel.title, query.legend): query.expression
    for dashboard in DASHBOARDS
    for panel in dashboard.panels
    for query in panel.queries
}


def shown(expression: str) -> str:
    """As Grafana would ask with everything chosen; the run is short."""
    return re.sub(r"\$(mixing|queue)", ".*", expression.replace("$__rate_interval", "20s"))


async def has_data(server: Prometheus, expression: str) -> bool:
    return any(math.isfinite(float(found["value"][1])) for found in await server.query(shown(expression)))


async def life(world: World) -> None:
    """A job is preempted by an urgent one, waits, runs again; one more cannot be met, and stays refused."""
    await world.sbatch(JobRequest(tmp=1000))
    victim = await world.sbatch(JobRequest(ntasks=6, seconds=4))
    await world.until_state(victim, "RUNNING")
    urgent = await world.sbatch(JobRequest(partition=URGENT, ntasks=8, seconds=1))
    await world.until_state(urgent, "COMPLETED", seconds=60)
    await world.until_state(victim, "COMPLETED", seconds=60)
    await world.sbatch(JobRequest(ntasks=8, seconds=30))
    await world.sbatch(JobRequest(ntasks=8, seconds=30))


async def test_every_panel_has_data(tmp_path: Path):
    async with (
        World.start(WorldConfig(directory=tmp_path / "world")) as world,
        sandbox(tmp_path / "ray") as ray,
        ray.bridge() as ray_bridge,
    ):
        bridge = await world.bridge()
        async with prometheus(tmp_path / "prometheus") as server:
            server.scrape("k8s-bridge", bridge.address.removeprefix("http://"))
            server.scrape("ray-bridge", f"127.0.0.1:{ray_bridge.address.port}")
            ray.submit("inner", seconds=60.0)
            await life(world)
            empty = set(EXPRESSIONS)
            for _ in range(LOOKS):
                empty -= {name for name in empty if await has_data(server, EXPRESSIONS[name])}
                if not empty:
                    break
                await asyncio.sleep(0.5)
            assert not empty
