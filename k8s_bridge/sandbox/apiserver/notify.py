"""Telling in-process subscribers about changes, in the order they were committed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change, Event
from k8s_bridge.sandbox.apiserver.kinds import Kind

Callback = Callable[[Change, Json], None]


class Notifier:
    """Callbacks by kind. One that writes causes events that wait until all have seen the present one."""

    def __init__(self) -> None:
        self._callbacks: defaultdict[Kind, list[Callback]] = defaultdict(list)
        self._waiting: deque[tuple[Kind, Event]] = deque()
        self._busy = False

    def subscribe(self, kind: Kind, callback: Callback) -> Callable[[], None]:
        """Add a callback; the returned function takes it away again."""
        callbacks = self._callbacks[kind]
        callbacks.append(callback)
        return lambda: callbacks.remove(callback)

    def publish(self, kind: Kind, event: Event) -> None:
        """Deliver now, or, called from within a callback, after what is being delivered."""
        self._waiting.append((kind, event))
        if self._busy:
            return
        self._busy = True
        try:
            while self._waiting:
                self._deliver(*self._waiting.popleft())
        finally:
            self._busy = False

    def _deliver(self, kind: Kind, event: Event) -> None:
        for callback in tuple(self._callbacks[kind]):
            callback(event.change, event.stored.obj)
