"""The work queue: which unit is looked at next. It never runs anything itself.

A key is in at most one of the states waiting and active; what is added while active comes back when it is
done. Timers belong to the event loop, so that the clock of a test's loop is the clock of the queue.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from k8s_bridge.core.errors import Retry
from k8s_bridge.runtime.backoff import Backoff

K = TypeVar("K", bound=Hashable)

_EARLY_SECONDS = 0.001
"""An event loop may fire a timer a clock tick before it is due."""


class Queue(Generic[K]):
    """First in, first out; each key once."""

    def __init__(self, backoff: Backoff[K]) -> None:
        self._backoff = backoff
        self._waiting: OrderedDict[K, None] = OrderedDict()  # a set whose oldest is found in O(1)
        self._active: set[K] = set()
        self._again: set[K] = set()  # added while active
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._not_before: dict[K, float] = {}
        self._on_ready: Callable[[], None] = lambda: None

    def on_ready(self, call: Callable[[], None]) -> None:
        """Call `call` whenever a key has become ready to be popped. One listener."""
        self._on_ready = call

    def __len__(self) -> int:
        """Keys ready now."""
        return len(self._waiting)

    @property
    def delayed(self) -> int:
        """Keys with a timer."""
        return len(self._timers)

    @property
    def active(self) -> int:
        """Keys popped and not yet done."""
        return len(self._active)

    def add(self, key: K) -> None:
        """`key` changed: look at it now, unless a server asked to be left alone for longer."""
        if key in self._waiting:
            return
        if key in self._active:
            self._again.add(key)
            return
        due = self._not_before.get(key, 0.0)
        if due > _now() + _EARLY_SECONDS:
            self._start_timer(key, due)
            return
        self._stop_timer(key)
        self._waiting[key] = None
        self._on_ready()

    def add_after(self, key: K, seconds: float) -> None:
        """Look at `key` in `seconds` at the latest; any pass before then takes the timer's place."""
        if seconds <= 0:
            self.add(key)
        else:
            self._start_timer(key, _now() + seconds)

    def pop(self) -> K | None:
        """The next key, now active until `done`, `succeeded` or `failed` is called; None: nothing ready."""
        if not self._waiting:
            return None
        key, _ = self._waiting.popitem(last=False)
        self._active.add(key)
        self._stop_timer(key)
        self._not_before.pop(key, None)
        return key

    def done(self, key: K) -> None:
        """The pass over `key` ended and says nothing about success."""
        self._active.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def succeeded(self, key: K, *, after: float | None = None) -> None:
        """The pass went well; look again in `after` seconds at the latest (None: on change only)."""
        self._backoff.reset(key)
        self.done(key)
        if after is not None:
            self.add_after(key, after)

    def failed(self, key: K, error: Exception) -> float:
        """The pass failed: `key` comes back by itself after the returned number of seconds.

        A change brings it back sooner, but never sooner than a `Retry(after)` asked for.
        """
        seconds = self._backoff.delay(key, error)
        if isinstance(error, Retry) and error.after is not None:
            self._not_before[key] = _now() + error.after
        self.done(key)
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """The unit is no more: its failures are forgotten. A look that is due still takes place."""
        self._backoff.reset(key)

    def close(self) -> None:
        """Stop all timers, so that nothing becomes ready by itself any more."""
        for key in tuple(self._timers):
            self._stop_timer(key)

    def _start_timer(self, key: K, due: float) -> None:
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= due:
            return
        self._stop_timer(key)
        self._timers[key] = asyncio.get_running_loop().call_at(due, self._fire, key)

    def _stop_timer(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)


def _now() -> float:
    return asyncio.get_running_loop().time()
