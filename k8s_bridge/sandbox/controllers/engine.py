"""The controllers' common loop: keys in a queue, one synchronous reconcile at a time.

Reconciles never overlap, so each sees a consistent world and its writes are one step. A key that is already
queued is not queued again. Trouble with one key never stops the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Protocol

import structlog

from k8s_bridge.sandbox.apiserver.errors import ApiError
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.clock import Clock

_log = structlog.get_logger(__name__)
_BREATH = 50  # reconciles between two chances for everybody else on the loop
_PAUSE = 1.0  # seconds before a key is tried again after an unexpected error


class Reconciler(Protocol):
    """One controller."""

    name: str

    def reconcile(self, key: Key) -> float | None:
        """Bring the object of `key` one step forward; answers in how many seconds to come back, if at all."""


Item = tuple[Reconciler, Key]


class Engine:
    """Runs reconcilers until it is stopped."""

    def __init__(self, *, clock: Clock) -> None:
        self.clock = clock
        self.failures = 0
        self._queue: deque[Item] = deque()
        self._queued: set[Item] = set()
        self._later: dict[Item, float] = {}
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, reconciler: Reconciler, key: Key) -> None:
        """Look at `key` soon."""
        item = (reconciler, key)
        if item not in self._queued:
            self._queued.add(item)
            self._queue.append(item)
            self._wake.set()

    def add_later(self, reconciler: Reconciler, key: Key, *, after: float) -> None:
        """Look at `key` after some seconds. Of several such wishes the earliest stands until it is due."""
        item, due = (reconciler, key), self.clock.now().timestamp() + after
        if after <= 0:
            self.add(reconciler, key)
        elif item not in self._later or due < self._later[item]:
            self._later[item] = due
            self.spawn(self._wait(item, after, due))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something beside the queue; it is cancelled when the engine stops."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def run(self) -> None:
        """Work until cancelled; then end what was spawned."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._drain()
        finally:
            await self._end()

    async def _drain(self) -> None:
        done = 0
        while self._queue:
            self._step(self._queue.popleft())
            done += 1
            if done % _BREATH == 0:
                await asyncio.sleep(0)

    def _step(self, item: Item) -> None:
        self._queued.discard(item)
        reconciler, key = item
        try:
            after = reconciler.reconcile(key)
        except ApiError as error:
            self._failed(item, error)
        except Exception as error:  # noqa: BLE001 - one bad object must not stop the world
            self._failed(item, error)
        else:
            if after is not None:
                self.add_later(reconciler, key, after=after)

    def _failed(self, item: Item, error: Exception) -> None:
        self.failures += 1
        reconciler, key = item
        _log.error("sandbox.reconcile_failed", controller=reconciler.name, key=key, exc_info=error)
        self.add_later(reconciler, key, after=_PAUSE)

    async def _wait(self, item: Item, seconds: float, due: float) -> None:
        await self.clock.sleep(seconds)
        if self._later.get(item) == due:
            del self._later[item]
            self.add(*item)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures += 1
            _log.error("sandbox.task_failed", exc_info=error)

    async def _end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
