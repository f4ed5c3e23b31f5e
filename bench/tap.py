"""A tap between the bridge and a server: bytes pass unchanged, and every request and answer is told.

It listens on loopback and knows nothing of what it sees. Times are `time.perf_counter()` of this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self
from urllib.parse import urlsplit

import httptools

_CHUNK = 1 << 18
_KEEP = 1 << 22
"""Bytes of a body that are kept; of a longer one nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; `received` is when its last byte came in."""

    method: str
    path: str
    query: str
    body: bytes
    received: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a request; `sent` is when its last byte went out. A watch has none until it ends."""

    request: Request
    status: int
    body: bytes
    size: int
    sent: float


class Tap:
    """`async with` it, then set `upstream`, and `tls` if that needs it.

    `on_request` and `on_answer` are called in order of arrival.
    """

    def __init__(self, *, on_request: Callable[[Request], None], on_answer: Callable[[Answer], None]) -> None:
        self.upstream = ""
        self.tls: ssl.SSLContext | None = None
        self._on_request = on_request
        self._on_answer = on_answer
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where the bridge shall connect to, without a trailing slash."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._connect(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        where = urlsplit(self.upstream)
        there, to = await asyncio.open_connection(where.hostname, where.port, ssl=self.tls)
        pending: deque[Request] = deque()
        asked, told = Requests(), Answers()

        def requests(chunk: bytes) -> None:
            to.write(chunk)
            for request in asked.feed(chunk):
                pending.append(request)
                self._on_request(request)

        def answers(chunk: bytes) -> None:
            writer.write(chunk)
            sent = perf_counter()
            for status, body, size in told.feed(chunk):
                request = pending.popleft()
                self._on_answer(Answer(request=request, status=status, body=body, size=size, sent=sent))

        try:
            await _either(_pump(reader, to, requests), _pump(there, writer, answers))
        finally:
            to.close()


async def _pump(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, passing: Callable[[bytes], None]
) -> None:
    while chunk := await source.read(_CHUNK):
        passing(chunk)
        await sink.drain()


async def _either(*pumps: Coroutine[Any, Any, None]) -> None:
    """A connection that one side has closed is over for both."""
    tasks = [asyncio.create_task(pump) for pump in pumps]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Body:
    def __init__(self) -> None:
        self.size = 0
        self._parts: list[bytes] = []

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if self.size <= _KEEP:
            self._parts.append(part)

    def whole(self) -> bytes:
        return b"".join(self._parts) if self.size <= _KEEP else b""


class Requests:
    """Bytes of a client in, complete requests out."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._body = _Body()
        self._found: list[Request] = []

    def feed(self, chunk: bytes) -> list[Request]:
        """The requests that end in this chunk."""
        self._found = []
        self._parser.feed_data(chunk)
        return [replace(request, received=perf_counter()) for request in self._found]

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self._target, self._body = b"", _Body()

    def on_url(self, part: bytes) -> None:
        """Called by the parser."""
        self._target += part

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        self._body.add(part)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        path, _, query = self._target.decode("latin-1").partition("?")
        self._found.append(
            Request(
                method=self._parser.get_method().decode(),
                path=path,
                query=query,
                body=self._body.whole(),
                received=0.0,
            )
        )


class Answers:
    """Bytes of a server in; status, body and its size of complete answers out."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body = _Body()
        self._found: list[tuple[int, bytes, int]] = []

    def feed(self, chunk: bytes) -> list[tuple[int, bytes, int]]:
        """The answers that end in this chunk."""
        self._found = []
        self._parser.feed_data(chunk)
        return self._found

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self._body = _Body()

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        self._body.add(part)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._found.append((self._parser.get_status_code(), self._body.whole(), self._body.size))
