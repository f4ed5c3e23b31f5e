"""The demo's screen: a live table on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from k8s_bridge.cli.demo_rows import rows
from k8s_bridge.cli.tables import render_units
from k8s_bridge.runtime.units import UnitRow
from k8s_bridge.sandbox.controllers.quantity import parse
from k8s_bridge.sandbox.world import World

_EVERY = 0.25
_LAST_LOOK = 2.0
_CPU = "cpu"
_MILLI = 1000


class Screen:
    """Tells the story of one world. `begun` is Unix seconds."""

    def __init__(self, world: World, console: Console, *, title: str, begun: float) -> None:
        self._world = world
        self._console = console
        self._title = title
        self._begun = begun
        self._rows: list[UnitRow] = []
        self._since: dict[str, tuple[str, float]] = {}
        self._live = Live(console=console, auto_refresh=False, transient=False)

    def say(self, text: str) -> None:
        """Put a line of the story above the table."""
        style = "bold" if text.startswith("$") else ""
        self._console.print(Text(f"{self._clock()}  {text}", style=style), soft_wrap=True)

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Keep the screen up to date meanwhile."""
        looking = asyncio.create_task(self._follow())
        if self._console.is_terminal:
            self._live.start()
        try:
            yield
            await self._bridge_is_done()
            await self._look()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            self._live.stop()

    async def _follow(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(_EVERY)

    async def _bridge_is_done(self) -> None:
        """Wait until the bridge has seen the end as well, so that the last picture has no leftovers."""
        deadline = time.monotonic() + _LAST_LOOK
        while time.monotonic() < deadline and await self._units():  # noqa: ASYNC110 - other processes
            await asyncio.sleep(_EVERY / 2)

    async def _look(self) -> None:
        self._rows = [self._dated(row) for row in rows(self._world, await self._units())]
        if self._console.is_terminal:
            self._live.update(self._draw(), refresh=True)

    async def _units(self) -> list[dict[str, Any]]:
        return [unit for bridge in self._world.bridges for unit in await bridge.units()]

    def _dated(self, row: UnitRow) -> UnitRow:
        """With the time since when it is in this state, and a line where a table cannot tell."""
        state, since = self._since.get(row.name, ("", 0.0))
        if state != row.state:
            since = time.time()
            self._since[row.name] = (row.state, since)
            if not self._console.is_terminal:
                self._tell(row)
        return msgspec.structs.replace(row, since=since)

    def _tell(self, row: UnitRow) -> None:
        why = f": {row.text}" if row.text else ""
        text = f"{self._clock()}  {row.kind} {row.name} is {row.state}{why}"
        self._console.print(Text(text), soft_wrap=True)

    def _draw(self) -> RenderableType:
        return Group(Text(), self._head(), Text(), render_units(self._rows, now=time.time()))

    def _head(self) -> Text:
        used, total = self._cpus()
        bar = Text.assemble(("█" * used, "green"), ("░" * (total - used), "dim"))
        head = Text.assemble(("k8s-bridge demo", "bold"), f" · {self._title} · Kueue quota ")
        return head + bar + Text(f" {used} of {total} CPUs · {self._clock().strip()}")

    def _cpus(self) -> tuple[int, int]:
        used = sum(queue.get(_CPU, 0) for queue in self._world.timeline.usage.values())
        return used // _MILLI, parse(_CPU, self._world.config.quota[_CPU]) // _MILLI

    def _clock(self) -> str:
        return f"{time.time() - self._begun:5.1f}s"
