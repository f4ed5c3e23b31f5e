"""The loop: takes units from the queue, lets the controller decide, hands decisions to the executor.

It owns when something is decided, never what. While the controller is blocked or the lease is not ours
nothing is decided; when that ends every unit is looked at. Nothing here polls for work: a change starts a
pass at once, and the tick only keeps the heartbeat and notices a gate that nobody announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from k8s_bridge.runtime.controller import Controller, Hook, Outcome, Result
from k8s_bridge.runtime.gate import Gate
from k8s_bridge.runtime.passes import Hooks, Passes
from k8s_bridge.runtime.queue import Queue
from k8s_bridge.runtime.waiting import wait

__all__ = ["Controller", "Loop"]

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")

TICK_SECONDS = 1.0
RESYNC_SECONDS = 300.0
GRACE_SECONDS = 5.0
WEDGED_SECONDS = 120.0
"""A pass that takes longer than this hangs: every request under it has shorter timeouts."""
DEAF_SECONDS = 30.0
"""Without a tick for this long the loop's task is stuck or gone."""

_DUE = float("-inf")


class Loop(Generic[K, E]):
    """One loop for one controller; at most `workers` passes at a time.

    `clock` gives Unix seconds to `decide`. `may_write` says whether the lease is ours at this moment.
    """

    def __init__(  # noqa: PLR0913 - the five collaborators of a loop, each replaced by tests
        self,
        controller: Controller[K, E],
        queue: Queue[K],
        *,
        workers: int,
        may_write: Callable[[], bool],
        clock: Callable[[], float],
        on_outcome: Sequence[Hook[K]] = (),
    ) -> None:
        self._controller = controller
        self._queue = queue
        self._workers = workers
        self._gate = Gate(controller.blocked, may_write)
        self._emit = Hooks((controller.observe_outcome, *on_outcome))
        self._passes = Passes(
            controller,
            queue,
            may_write=lambda: not self._stopping and may_write(),
            clock=clock,
            emit=self._emit,
        )
        self._running: dict[asyncio.Task[None], float] = {}
        self._wake = asyncio.Event()
        self._stopping = False
        self._beat: float | None = None
        self._resync_due = _DUE

    async def run(self) -> None:
        """Work until `stop`; then let the effect under way finish (at most 5 s) and return."""
        self._queue.on_ready(self._pump)
        try:
            while not self._stopping:
                self._beat = _now()
                if self._is_open() and self._beat >= self._resync_due:
                    self.resync()
                self._pump()
                await wait(self._wake, seconds=TICK_SECONDS)
        finally:
            await self._finish()

    def stop(self) -> None:
        """Start nothing new from now on. `run` returns when what is under way has ended."""
        self._stopping = True
        self._wake.set()

    def wake(self) -> None:
        """The lease or a source's freshness may have changed: look at the gate now."""
        self._wake.set()

    def resync(self) -> None:
        """Look at every unit there is, in the controller's order, and forget what there is no more."""
        self._resync_due = _now() + RESYNC_SECONDS
        keys = dict.fromkeys(self._controller.keys())
        self._passes.keep_only(keys.keys())
        for key in keys:
            self._queue.add(key)

    def wedged(self) -> str:
        """Why this loop must be considered hung, for /healthz; "" when it works (or has nothing to do)."""
        if self._beat is None:
            return ""
        now, name = _now(), self._controller.name
        if now - self._beat > DEAF_SECONDS:
            return f"{name}: no heartbeat for {now - self._beat:.0f} s"
        oldest = min(self._running.values(), default=now)
        if now - oldest > WEDGED_SECONDS:
            return f"{name}: one pass has been running for {now - oldest:.0f} s"
        return ""

    @property
    def blocked(self) -> str:
        """Why nothing is decided now; "" when the gate is open."""
        return self._gate.why

    async def _finish(self) -> None:
        self._stopping = True
        self._beat = None
        self._queue.on_ready(lambda: None)
        self._queue.close()
        if not self._running:
            return
        _, hung = await asyncio.wait(self._running, timeout=GRACE_SECONDS)
        for task in hung:
            task.cancel()

    def _pump(self) -> None:
        while not self._stopping and len(self._running) < self._workers and self._may_start():
            key = self._queue.pop()
            if key is None:
                return
            task = asyncio.get_running_loop().create_task(self._passes.run(key))
            self._running[task] = _now()
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._pump()

    def _may_start(self) -> bool:
        return self._is_open() and self._resync_due != _DUE

    def _is_open(self) -> bool:
        if self._gate.look():
            self._tell_gate()
            self._resync_due = _DUE  # what happened behind a closed gate is looked at when it opens
            self._wake.set()
        return self._gate.is_open

    def _tell_gate(self) -> None:
        self._emit(
            Outcome(
                controller=self._controller.name,
                key=None,
                result=Result.GATE,
                state="open" if self._gate.is_open else "blocked",
                text=self._gate.why,
                error=self._gate.error,
            )
        )


def _now() -> float:
    return asyncio.get_running_loop().time()
