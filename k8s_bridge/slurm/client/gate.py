"""Who may ask slurmrestd next: few at a time, not too often, urgent ones first.

slurmrestd stalls when it is flooded, and a platform may bound our share. One turn in eight goes to whoever
has waited longest, so that a flood of releases cannot make the bridge blind, nor a flood of reads mute.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import IntEnum

from k8s_bridge.core.errors import Retry

FAIR = 8


class Urgency(IntEnum):
    """What goes first when calls have to wait. Texts come last: they must not delay what we see."""

    RELEASE = 0
    REQUEUE = 1
    CANCEL = 2
    NODE = 3
    READ = 4
    TEXT = 5


class Gate:
    """At most `slots` calls at a time and `rate` a second (0: no limit)."""

    def __init__(self, *, slots: int, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = slots
        self._pause = 1 / rate if rate > 0 else 0.0
        self._clock = clock
        self._next = 0.0
        self._queue: list[tuple[Urgency, int, asyncio.Future[None]]] = []
        self._arrivals = 0
        self._turns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    @asynccontextmanager
    async def slot(self, urgency: Urgency) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Retry when the gate closes meanwhile."""
        await self._turn(urgency)
        try:
            yield
        finally:
            self._free += 1
            self._admit()

    def close(self) -> None:
        """Turn away everyone who waits and whoever comes."""
        self._closed = True
        for _, _, turn in self._queue:
            if not turn.done():
                turn.set_exception(Retry("the Slurm client is closed"))
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()

    async def _turn(self, urgency: Urgency) -> None:
        if self._closed:
            raise Retry("the Slurm client is closed")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._queue, (urgency, self._arrivals, turn))
        self._admit()
        await turn

    def _admit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue and self._free:
            now = self._clock()
            if now < self._next:
                self._timer = asyncio.get_running_loop().call_later(self._next - now, self._admit)
                return
            turn = self._pop()
            if turn.done():
                continue
            self._next = max(now, self._next) + self._pause
            self._free -= 1
            turn.set_result(None)

    def _pop(self) -> asyncio.Future[None]:
        self._turns += 1
        if self._turns % FAIR:
            return heapq.heappop(self._queue)[2]
        oldest = min(self._queue, key=lambda waiting: waiting[1])
        self._queue.remove(oldest)
        heapq.heapify(self._queue)
        return oldest[2]
