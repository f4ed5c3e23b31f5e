"""A world, the bridge in it and its faults in one process on virtual time: an hour passes in seconds."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from k8s_bridge.sandbox.faults import FaultEngine
from k8s_bridge.sandbox.world import Backend, World, WorldConfig
from support.adversary import Writes, bridge


class InProcess:
    """The bridges of a world, as tasks. A death comes at once, or with one of the next writes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._first = _Life(world)
        self._other: _Life | None = None

    async def start(self) -> None:
        await self._first.begin()

    async def kill(self) -> None:
        await self._first.die()
        await self._first.begin()

    async def kill_at_write(self, number: int, *, happens: bool) -> None:
        """Dead from the `number`-th write from now on; call `kill` when it should live again."""
        self._first.writes.last = len(self._first.writes.seen) + number
        self._first.writes.last_happens = happens

    async def restart(self) -> None:
        await self._first.end()
        await self._first.begin()

    async def freeze(self) -> None:
        """As near as a process comes to it that serves others, too: nothing that it wants happens."""
        self._first.writes.died.set()

    async def thaw(self) -> None:
        self._first.writes.revive()

    async def second(self) -> None:
        self._other = _Life(self._world)
        await self._other.begin()

    async def single(self) -> None:
        if self._other:
            await self._other.end()
            self._other = None

    async def stop(self) -> None:
        await self.single()
        await self._first.end()


class _Life:
    """One bridge from start to end, as often as it is begun."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.writes = Writes()

    async def begin(self) -> None:
        self.writes.revive()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._live(self._stop))

    async def die(self) -> None:
        self.writes.died.set()
        await self.end()

    async def end(self) -> None:
        self._stop.set()
        if self._task:
            await self._task
        self._task = None

    async def _live(self, stop: asyncio.Event) -> None:
        async with bridge(self._world, writes=self.writes):
            await stop.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    world: World
    bridges: InProcess
    faults: FaultEngine


@contextlib.asynccontextmanager
async def simulation(*, seed: int = 0, **config: object) -> AsyncIterator[Simulation]:
    """A running one; `spied()` has to be in force. `config` is WorldConfig's."""
    with tempfile.TemporaryDirectory(prefix="simulation-") as directory:
        settings = WorldConfig(directory=Path(directory), slurm=Backend.FAKE, seed=seed, **config)  # type: ignore[arg-type]
        async with World.start(settings) as world:
            bridges = InProcess(world)
            await bridges.start()
            try:
                yield Simulation(
                    world=world, bridges=bridges, faults=FaultEngine(world, bridges=bridges, seed=seed)
                )
            finally:
                await bridges.stop()
