"""One world for the scenarios of a module, made anew when one of them has left it in disorder."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

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
    timeline = await world.until_quiet(seconds=15)
    assert [verdict for verdict in check(timeline) if not verdict.holds] == []
    assert world.controllers.engine.failures == 0


def bridge_of(world: World) -> BridgeProcess:
    return world.bridges[0]
