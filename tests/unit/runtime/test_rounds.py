"""Looks follow each other after the pauses that they ask for; a stop ends a pause."""

from __future__ import annotations

import asyncio

from k8s_bridge.runtime.rounds import Rounds


class Looks(Rounds):
    def __init__(self, *pauses: float) -> None:
        super().__init__()
        self._pauses = iter(pauses)
        self.done = 0
        self.rests = asyncio.Event()

    async def _look(self) -> float:
        self.done += 1
        pause = next(self._pauses)
        if pause:
            self.rests.set()
        return pause


async def test_a_stop_ends_a_long_pause() -> None:
    looks = Looks(0.0, 0.0, 3600.0)
    running = asyncio.create_task(looks.run())
    await looks.rests.wait()
    looks.stop()
    await asyncio.wait_for(running, timeout=10)
    assert looks.done == 3
