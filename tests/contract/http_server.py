"""A scripted HTTP/1.1 server on loopback, for clients that must survive what real servers do.

Each (method, path) has a list of replies: the n-th request gets the n-th reply and the last one repeats.
A reply is a coroutine over an `Exchange`, so that a test can send half a line, cut the connection, or
never answer at all; `answer`, `stream`, `cut`, `hang` and `held` cover the usual cases. A request that nobody
scripted gets a 501 and fails the test on exit.

    async with HttpServer() as server:
        server.on("GET", "/pods", answer(503, headers={"Retry-After": "7"}), answer(200, {"items": []}))
        …
        assert server.requests[0].headers["authorization"] == "Bearer secret"
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    """What a client sent. Header names are in lower case; `connection` counts from 1."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    connection: int

    def json(self) -> Any:
        return json.loads(self.body)


class Hangup(Exception):
    """Ends a connection from within a reply."""


@dataclass
class Exchange:
    """One request and the means to answer it, byte by byte if need be."""

    request: Request
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        await self.raw("\r\n".join([*lines, "", ""]).encode())

    async def chunk(self, data: bytes) -> None:
        """One chunk of a chunked body; it leaves as its own write. Empty data ends the body."""
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def client_gone(self) -> None:
        """Returns when the client has closed its side."""
        while await self._reader.read(65536):
            pass


Reply = Callable[[Exchange], Awaitable[None]]


def answer(status: int, body: Any = b"", *, headers: Mapping[str, str] | None = None) -> Reply:
    """A whole answer; anything but bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def reply(exchange: Exchange) -> None:
        head = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
        await exchange.head(status, head)
        await exchange.raw(data)

    return reply


def stream(*chunks: bytes, then: Reply | None = None) -> Reply:
    """A chunked 200. Afterwards `then` runs (`cut`, `hang`); without it the body ends properly."""

    async def reply(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        for data in chunks:
            await exchange.chunk(data)
            await asyncio.sleep(0)
        await (exchange.chunk(b"") if then is None else then(exchange))

    return reply


async def cut(_: Exchange) -> None:
    """The connection drops."""
    raise Hangup


async def hang(exchange: Exchange) -> None:
    """Nothing more is sent, and the connection stays open until the client closes it (half-open)."""
    await exchange.client_gone()
    raise Hangup


def held(gate: asyncio.Event, reply: Reply) -> Reply:
    """`reply`, but not before `gate` is set."""

    async def waiting(exchange: Exchange) -> None:
        await gate.wait()
        await reply(exchange)

    return waiting


@dataclass
class HttpServer:
    """The server; use it as an async context manager. All requests are kept in order of arrival."""

    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    unexpected: list[Request] = field(default_factory=list)
    url: str = ""
    connections: int = 0
    _replies: dict[tuple[str, str], list[Reply]] = field(default_factory=dict)
    _served: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def on(self, method: str, path: str, *replies: Reply) -> None:
        """Script the replies of one method and path, in place of those that were there."""
        self._replies[method, path] = list(replies)
        self._served[method, path] = 0

    def to(self, method: str, path: str) -> list[Request]:
        """The requests so far of one method and path."""
        return [request for request in self.requests if (request.method, request.path) == (method, path)]

    async def arrived(self, method: str, path: str, *, count: int = 1) -> Request:
        """Wait for the `count`-th request of that method and path."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.to(method, path)) >= count)
        return self.to(method, path)[count - 1]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"{'https' if self.tls else 'http'}://{host}:{port}"
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if kind is None:
            assert not self.unexpected, f"nobody scripted {self.unexpected}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        try:
            while (request := await _read(reader, number)) is not None:
                await self._serve(Exchange(request, reader, writer))
        except (Hangup, ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:  # the end of the test
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve(self, exchange: Exchange) -> None:
        request = exchange.request
        key = (request.method, request.path)
        replies = self._replies.get(key, [])
        reply = replies[min(self._served[key], len(replies) - 1)] if replies else answer(501)
        self._served[key] += 1
        async with self._arrived:
            self.requests.append(request)
            if not replies:
                self.unexpected.append(request)
            self._arrived.notify_all()
        await reply(exchange)


async def _read(reader: asyncio.StreamReader, connection: int) -> Request | None:
    """The next request of a connection; None when the client closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    url = urlsplit(target)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    return Request(method, unquote(url.path), query, headers, body, connection)
