"""One watch: reads the history from its own position and writes lines until its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from k8s_bridge.sandbox.apiserver.errors import ApiError, expired
from k8s_bridge.sandbox.apiserver.history import Change, Event, EventLog, line
from k8s_bridge.sandbox.apiserver.kinds import Kind
from k8s_bridge.sandbox.apiserver.selectors import Predicate
from k8s_bridge.sandbox.apiserver.storage import Storage

BOOKMARK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """What a client asks for. `rv` None or 0 begins with the present state; `seconds` is the whole length."""

    kind: Kind
    namespace: str
    selection: Predicate | None
    rv: int | None
    seconds: float
    bookmarks: bool


class Watch:
    """A running watch. Its batches are the events at hand, as lines; slow readers get longer ones."""

    def __init__(self, storage: Storage, options: WatchOptions) -> None:
        self._storage = storage
        self._options = options
        self._log: EventLog = storage.logs[options.kind]
        self._wake = asyncio.Event()
        self.closed = asyncio.Event()

    def close(self) -> None:
        """End the stream after the present batch."""
        self.closed.set()
        self._wake.set()

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """The stream. If history has passed its position, it ends with an ERROR event."""
        detach = self._log.attach(self._wake)
        try:
            async for batch in self._stream():
                yield batch
        except ApiError as error:
            yield [line("ERROR", msgspec.json.encode(error.status()))]
        finally:
            detach()

    async def _stream(self) -> AsyncIterator[list[bytes]]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._options.seconds
        bookmark_at = loop.time() + BOOKMARK_SECONDS
        position, batch = self._begin()
        while not self.closed.is_set():
            self._wake.clear()
            batch += self._lines(position)
            position, now = self._log.end, loop.time()
            if self._options.bookmarks and now >= min(bookmark_at, deadline):
                bookmark_at = now + BOOKMARK_SECONDS
                batch.append(self._bookmark())
            if batch:
                yield batch
                batch = []
            if now >= deadline:
                return
            if position == self._log.end:
                await self._pause(min(deadline, bookmark_at) - now)

    def _lines(self, position: int) -> list[bytes]:
        events = self._log.since(position)
        if events is None:
            raise expired(f"too old resource version: {self._options.rv} ({self._log.oldest})")
        return [found for event in events if (found := self._line(event)) is not None]

    async def _pause(self, seconds: float) -> None:
        timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _begin(self) -> tuple[int, list[bytes]]:
        options = self._options
        if not options.rv:
            rows = self._storage.rows(options.kind, namespace=options.namespace, selection=options.selection)
            return self._log.end, [line(Change.ADDED, row.body) for row in rows]
        position = self._log.position(options.rv)
        if position is None:
            raise expired(f"too old resource version: {options.rv} ({self._log.oldest})")
        return position, []

    def _line(self, event: Event) -> bytes | None:
        options = self._options
        if options.namespace and event.stored.key[0] != options.namespace:
            return None
        if options.selection is None:
            return event.line
        before = event.previous is not None and options.selection(event.previous.obj)
        if event.change is Change.DELETED:
            return event.line if before else None
        after = options.selection(event.stored.obj)
        if after:
            return event.line if before or event.change is Change.ADDED else event.entered_line
        return event.left_line if before else None

    def _bookmark(self) -> bytes:
        kind, rv = self._options.kind, str(self._storage.rv)
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"resourceVersion": rv}}
        return line("BOOKMARK", msgspec.json.encode(obj))
