"""The only module of the Kubernetes side that knows the HTTP library.

The rules it keeps: a request is never cancelled (it runs in a task of its own, callers only stop waiting);
time limits are the library's own; redirects are not followed, the environment's proxies and netrc are not
read; bodies are capped; whatever goes wrong leaves as Retry, Conflict or Terminal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import httpx

from k8s_bridge.core.errors import Conflict, Retry, Terminal
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.errors import error_of
from k8s_bridge.kube.lines import LineSplitter
from k8s_bridge.kube.observe import Observer
from k8s_bridge.kube.untied import untied

MayWrite = Callable[[], bool]
"""Whether this instance may change anything at this very moment."""

_READS = ("GET", "LIST", "WATCH", "REVIEW")
_ON_THE_WIRE = {"LIST": "GET", "WATCH": "GET", "REVIEW": "POST"}
"""REVIEW asks the API server what it thinks of something; nothing is stored."""
_ERROR_FROM = 300
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times in seconds, sizes in bytes.

    `read` bounds the wait for each piece of an answer and `total` the whole of it; `farewell` is how long
    closing waits for calls under way. `body` caps an answer and `line` one line of a watch.
    """

    connect: float = 5.0
    read: float = 30.0
    write: float = 10.0
    pool: float = 10.0
    total: float = 120.0
    farewell: float = 5.0
    body: int = 64 * 2**20
    line: int = 16 * 2**20
    connections: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `method` is the HTTP method, or LIST or WATCH (a GET); `kind` is for metrics."""

    method: str
    path: str
    kind: str
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    content_type: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Channel:
    """One connection pool to the API server, and the checks that every answer passes."""

    def __init__(self, server: ApiServer, *, limits: Limits, pool: httpx.Limits, observer: Observer) -> None:
        self.limits = limits
        self._server = server
        self._observer = observer
        self._client = httpx.AsyncClient(
            base_url=server.base_url,
            verify=server.tls,
            proxy=server.proxy or None,
            trust_env=False,
            follow_redirects=False,
            limits=pool,
            timeout=httpx.Timeout(limits.read, connect=limits.connect, write=limits.write, pool=limits.pool),
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "k8s-bridge"},
        )

    @asynccontextmanager
    async def open(self, call: Call, extensions: Mapping[str, Any]) -> AsyncIterator[httpx.Response]:
        """An answer, whatever its code, its body unread."""
        sni = {"sni_hostname": self._server.server_name} if self._server.server_name else {}
        headers = dict(await self._server.credentials.headers())
        if call.content:
            headers["Content-Type"] = call.content_type
        opening = self._client.stream(
            _ON_THE_WIRE.get(call.method, call.method),
            call.path,
            params=dict(call.query),
            headers=headers,
            content=call.content or None,
            extensions={**sni, **extensions},
        )
        async with untied(opening) as response:
            yield response

    async def read(self, call: Call, response: httpx.Response) -> bytes:
        """The whole body. Terminal when it is above the cap, Retry when it does not end in time."""
        end = time.monotonic() + self.limits.total
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.aiter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > self.limits.body:
                raise Terminal(f"{call}: more than {self.limits.body} bytes", reason="BodyTooLarge")
            if time.monotonic() > end:
                raise Retry(f"{call}: not complete after {self.limits.total:.0f} s")
        return b"".join(chunks)

    def check(self, call: Call, response: httpx.Response, body: bytes) -> None:
        """Raise what the answer amounts to if it is not a success."""
        code = response.status_code
        if code == _UNAUTHORIZED:
            self._server.credentials.rejected()
        if code >= _ERROR_FROM:
            raise error_of(str(call), code, body, retry_after=response.headers.get("Retry-After", ""))

    def tell(self, call: Call, *, code: int, started: float, size: int) -> None:
        """Report the call to whoever counts."""
        self._observer.on_call(
            method=call.method, kind=call.kind, code=code, seconds=time.monotonic() - started, size=size
        )

    async def aclose(self) -> None:
        """Close every connection; a read under way fails."""
        await self._client.aclose()


class Stream:
    """One watch. It is ended from outside by closing its connection, not by cancelling its reader."""

    def __init__(self, channel: Channel, call: Call, *, silence: float) -> None:
        self._channel = channel
        self._call = call
        self._silence = silence
        self._socket: Any = None
        self._closed = False

    async def close(self) -> None:
        """End it: the reader's loop ends without an error. While it still connects, once that is over."""
        self._closed = True
        if self._socket is not None:
            await self._socket.aclose()

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines as they come, until the server or `close` ends it. Raises Retry, Conflict or Terminal."""
        if self._closed:
            return
        try:
            async with aclosing(self._lines()) as lines:
                async for line in lines:
                    yield line
        except httpx.HTTPError as error:
            if not self._closed:
                raise _retry(self._call, error) from error

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        channel, splitter = self._channel, LineSplitter(cap=self._channel.limits.line)
        started = time.monotonic()
        # the library reads this mapping anew in each phase: the head must come soon, then silence is fine
        patience = httpx.Timeout(channel.limits.read, connect=channel.limits.connect).as_dict()
        async with channel.open(self._call, {"trace": self._trace, "timeout": patience}) as response:
            channel.tell(self._call, code=response.status_code, started=started, size=0)
            if response.status_code >= _ERROR_FROM:
                channel.check(self._call, response, await channel.read(self._call, response))
            patience["read"] = self._silence
            async for chunk in response.aiter_bytes():
                for line in splitter.feed(chunk):
                    yield line

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Learn the connection from the library's trace; during a TLS handshake there is none to close."""
        if event.endswith(".start_tls.started"):
            self._socket = None
        elif event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"]
            if self._closed:
                await self._socket.aclose()


class Http:
    """Verbs on kept connections, each watch on a connection of its own."""

    def __init__(self, server: ApiServer, *, limits: Limits, observer: Observer, may_write: MayWrite) -> None:
        self._limits = limits
        self._may_write = may_write
        pool = httpx.Limits(max_connections=limits.connections, keepalive_expiry=30.0)
        self._verbs = Channel(server, limits=limits, pool=pool, observer=observer)
        # no connection is kept, so that a watch always opens its own and can be ended by closing it
        pool = httpx.Limits(max_keepalive_connections=0)
        self._watches = Channel(server, limits=limits, pool=pool, observer=observer)
        self._running: set[asyncio.Task[bytes]] = set()
        self._streams: WeakSet[Stream] = WeakSet()
        self._closed = False

    async def send(self, call: Call) -> bytes:
        """The body of a successful answer. A caller that is cancelled leaves; the request itself goes on."""
        if self._closed:
            raise Retry(f"{call}: the client is closed")
        task = asyncio.create_task(self._send(call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        finally:
            del task  # it holds the error, which holds this frame: all that they know of would lie about

    def stream(self, call: Call, *, silence: float) -> Stream:
        """A stream of lines, not yet opened; `silence` is the longest wait between two pieces, in seconds."""
        if self._closed:
            raise Retry(f"{call}: the client is closed")
        stream = Stream(self._watches, call, silence=silence)
        self._streams.add(stream)
        return stream

    async def aclose(self) -> None:
        """End the watches, wait for calls under way (at most `farewell`), then close what is still open."""
        self._closed = True
        for stream in tuple(self._streams):
            await stream.close()
        if self._running:
            await asyncio.wait(self._running, timeout=self._limits.farewell)
        await self._verbs.aclose()
        await self._watches.aclose()

    async def _send(self, call: Call) -> bytes:
        if call.method not in _READS and not self._may_write():
            raise Conflict(f"{call}: not sent, this instance may not write now")
        started = time.monotonic()
        code, size = 0, 0
        try:
            async with self._verbs.open(call, {}) as response:
                code = response.status_code
                body = await self._verbs.read(call, response)
                size = len(body)
                self._verbs.check(call, response, body)
                return body
        except httpx.HTTPError as error:
            raise _retry(call, error) from error
        finally:
            self._verbs.tell(call, code=code, started=started, size=size)


def _retry(call: Call, error: httpx.HTTPError) -> Retry:
    return Retry(f"{call}: {type(error).__name__} {error}".rstrip())
