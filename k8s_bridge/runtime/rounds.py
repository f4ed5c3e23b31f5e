"""Looking again and again: a look, and the pause that it asks for."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from k8s_bridge.runtime.waiting import wait


class Rounds(ABC):
    """`run` looks until `stop`, which also ends a pause."""

    def __init__(self) -> None:
        self._wake = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Look until `stop`."""
        while not self._stopping:
            await wait(self._wake, seconds=await self._look())

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True
        self._wake.set()

    @abstractmethod
    async def _look(self) -> float:
        """Look once; seconds until the next look."""
