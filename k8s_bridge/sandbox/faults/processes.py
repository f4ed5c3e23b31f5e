"""The bridges of a world as processes of their own."""

from __future__ import annotations

from k8s_bridge.sandbox.world import BridgeProcess, World


class Processes:
    """`first` is one that runs already; without it `start` begins. The world ends what is left."""

    def __init__(self, world: World, *, first: BridgeProcess | None = None) -> None:
        self._world = world
        self._first = first
        self._second: BridgeProcess | None = None

    async def start(self) -> None:
        """Start the one that works."""
        self._first = await self._world.bridge("bridge")

    @property
    def first(self) -> BridgeProcess:
        """The one that works; RuntimeError before `start`."""
        if self._first is None:
            raise RuntimeError("no bridge was started")
        return self._first

    async def kill(self) -> None:
        """SIGKILL, then start it again."""
        await self.first.kill()
        await self.first.start()

    async def restart(self) -> None:
        """SIGTERM, then start it again."""
        await self.first.stop()
        await self.first.start()

    async def freeze(self) -> None:
        """SIGSTOP."""
        self.first.freeze()

    async def thaw(self) -> None:
        """SIGCONT."""
        self.first.thaw()

    async def second(self) -> None:
        """Start another one, which does not ask who leads either."""
        if self._second is None:
            self._second = await self._world.bridge("second")
        else:
            await self._second.start()

    async def single(self) -> None:
        """SIGTERM to the other one."""
        if self._second is not None:
            await self._second.stop()
