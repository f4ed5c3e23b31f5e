"""One world for the scenarios of a module, made anew when one of them has left it in disorder."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from k8s_bridge.sandbox.world import BridgeProcess, World, WorldConfig, check


class Keeper:
    def __init__(self, config: WorldConfig) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._world: World | None = None
        self._worlds = 0

    async def world(self) -> World:
        """A quiet world with a bridge that runs."""
        if self._world is None:
            self._worlds += 1
            directory = self._config.directory / str(self._worlds)
            config = replace(self._config, directory=directory)
            self._world = await self._stack.enter_async_context(World.start(config))
            await self._world.bridge()
        return self._world

    async def settle(self) -> None:
        """Everything must be given back, and every invariant hold, before the next scenario."""
        assert self._world is not None
        try:
            await quiet(self._world)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        self._world = None
        await self._stack.aclose()


async def quiet(world: World) -> None:
    timeline = await world.until_quiet(seconds=20)
    assert [verdict for verdict in check(timeline) if not verdict.holds] == []
    assert world.controllers.engine.failures == 0


def bridge_of(world: World) -> BridgeProcess:
    return world.bridges[0]


async def unit(
    world: World, job_id: int | str, *states: str, text: str = "", seconds: float = 20.0
) -> dict[str, Any]:
    """The bridge's row of a job, once it is in one of the states and its text begins like that."""
    rows: list[dict[str, Any]] = []
    async with asyncio.timeout(seconds):
        while not rows:
            answer = await bridge_of(world).units()
            of_job = [row for row in answer if row["name"] == str(job_id) and row["state"] in states]
            rows = [row for row in of_job if row.get("text", "").startswith(text)]
            await asyncio.sleep(0.05)
    return rows[0]
