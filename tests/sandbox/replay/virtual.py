"""An event loop that never waits: when nothing can run, its clock jumps to the next timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while nothing can run."""

    def __init__(self) -> None:
        super().__init__()
        self._virtual = 0.0
        really_select = self._selector.select

        def select(timeout: float | None) -> Any:
            found = really_select(0)
            if not found and timeout:
                self._virtual += timeout
            return found

        self._selector.select = select

    def time(self) -> float:
        return self._virtual


class LoopClock:
    """The loop's time as wall-clock time."""

    start = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.start + timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


def run_virtually(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run to the end on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work())
