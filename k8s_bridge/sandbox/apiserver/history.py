"""What happened to one kind, in order, as far back as the ring reaches: the source of every watch."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from k8s_bridge.sandbox.apiserver.ownership import sealed
from k8s_bridge.sandbox.apiserver.records import Stored

_encode = msgspec.json.Encoder().encode


class Change(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event:
    """One committed change. `stored` is the new version; of a deletion the last one with the new rv."""

    __slots__ = ("_left", "_line", "change", "previous", "rv", "stored")

    def __init__(self, change: Change, stored: Stored, previous: Stored | None) -> None:
        self.change = change
        self.stored = stored
        self.previous = previous
        self.rv = stored.rv
        self._line: bytes | None = None
        self._left: bytes | None = None

    @property
    def line(self) -> bytes:
        """The event as a line of a watch stream, made once for all watchers."""
        if self._line is None:
            self._line = line(self.change, self.stored.body)
        return self._line

    @property
    def entered_line(self) -> bytes:
        """The line for a selection this object has just entered."""
        return line(Change.ADDED, self.stored.body)

    @property
    def left_line(self) -> bytes:
        """The line for a selection this object has just left: its former state, the new resourceVersion."""
        if self._left is None:
            assert self.previous is not None
            self._left = line(
                Change.DELETED, _encode(sealed(self.previous.obj, self.rv, self.previous.owners))
            )
        return self._left


def line(change: str, body: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"%b","object":%b}\n' % (change.encode(), body)


class EventLog:
    """The last `size` events of one kind. Positions count all events ever appended."""

    def __init__(self, *, size: int) -> None:
        self._size = size
        self._events: list[Event] = []
        self._first = 0
        self._waiters: set[asyncio.Event] = set()
        self.oldest = 0  # the resourceVersion of the newest event that is no longer here

    @property
    def end(self) -> int:
        """The position after the last event."""
        return self._first + len(self._events)

    def append(self, event: Event) -> None:
        """Record an event and wake every watcher."""
        self._events.append(event)
        if len(self._events) >= 2 * self._size:
            self.compact(keep=self._size)
        for waiter in self._waiters:
            waiter.set()

    def compact(self, *, keep: int = 0) -> None:
        """Drop all but the newest `keep` events: older resourceVersions are answered 410 from now on."""
        dropped = len(self._events) - keep
        if dropped > 0:
            self.oldest = self._events[dropped - 1].rv
            del self._events[:dropped]
            self._first += dropped

    def position(self, rv: int) -> int | None:
        """The position of the first event after `rv`; None if history does not reach back to it."""
        if rv < self.oldest:
            return None
        return self._first + bisect_right(self._events, rv, key=_rv)

    def since(self, position: int) -> Sequence[Event] | None:
        """The events from `position` on; None if the ring has passed it."""
        if position < self._first:
            return None
        return self._events[position - self._first :]

    def attach(self, waiter: asyncio.Event) -> Callable[[], None]:
        """Have `waiter` set at each event, until the returned function is called."""
        self._waiters.add(waiter)
        return lambda: self._waiters.discard(waiter)


def _rv(event: Event) -> int:
    return event.rv
