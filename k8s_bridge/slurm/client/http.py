"""The only module of the Slurm side that knows the HTTP library.

The rules it keeps: a request is never cancelled (it runs in a task of its own; a caller only stops waiting);
time limits are the library's; redirects are not followed, since the token would travel along; connections are
few and kept for 5 s; bodies are capped; only calls that may be repeated are repeated, here and nowhere else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeVar

import httpx

from k8s_bridge.core.errors import Conflict, Retry, Terminal
from k8s_bridge.kube.untied import untied
from k8s_bridge.slurm.client.config import SlurmEndpoint
from k8s_bridge.slurm.client.gate import Gate, Urgency
from k8s_bridge.slurm.client.tls import verification
from k8s_bridge.slurm.client.token import TokenSource

CONNECTIONS = 4
KEEPALIVE = 5.0
FAREWELL = 5.0
PAUSES = (0.05, 0.25)
"""Waits before a call is repeated; slurmrestd of 22.05 resets a fresh connection now and then."""

_OK = 200
_BROKEN = (httpx.NetworkError, httpx.RemoteProtocolError)
"""The connection broke. A time limit that ran out is not repeated: the caller has waited long enough."""


class Repeat(Enum):
    """Whether a call may be sent again when its answer got lost."""

    SAFE = "safe"
    ONCE = "once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `path` is below the API version, `template` is the same without names, for metrics."""

    method: str
    path: str
    template: str
    urgency: Urgency
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    repeat: Repeat = Repeat.SAFE

    def __str__(self) -> str:
        return f"Slurm {self.method} {self.path}"


class Sink(Protocol):
    """Takes the body of a 200 as it comes; raises Retry or Terminal when it will not have it."""

    def feed(self, chunk: bytes) -> None:
        """The next piece."""
        ...


S = TypeVar("S", bound=Sink)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The status, and the whole body unless it was a 200."""

    status: int
    body: bytes


class Body:
    """A body kept whole, up to a cap in bytes."""

    def __init__(self, cap: int) -> None:
        self._chunks: list[bytes] = []
        self._left = cap

    def feed(self, chunk: bytes) -> None:
        """Terminal above the cap."""
        self._left -= len(chunk)
        if self._left < 0:
            raise Terminal("an answer of slurmrestd is above the size cap", reason="BodyTooLarge")
        self._chunks.append(chunk)

    def whole(self) -> bytes:
        """All of it."""
        return b"".join(self._chunks)


OnCall = Callable[[str, str, int, float, int], None]
"""(method, path template, status code or 0, seconds, bytes)"""


MayWrite = Callable[[], bool]
"""Whether this instance may change anything at this very moment."""


def always() -> bool:
    """Nobody else writes."""
    return True


def ignore(_method: str, _template: str, _code: int, _seconds: float, _size: int) -> None:
    """Nobody counts."""


class Http:
    """Requests to one slurmrestd."""

    def __init__(
        self, endpoint: SlurmEndpoint, *, token: TokenSource, on_call: OnCall, may_write: MayWrite
    ) -> None:
        self._endpoint = endpoint
        self._may_write = may_write
        self._token = token
        self._on_call = on_call
        self._gate = Gate(slots=CONNECTIONS, rate=endpoint.requests_per_second)
        self._running: set[asyncio.Task[Any]] = set()
        self._client = httpx.AsyncClient(
            base_url=endpoint.base_url,
            verify=verification(endpoint),
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=KEEPALIVE),
            timeout=httpx.Timeout(endpoint.timeout, connect=min(5.0, endpoint.timeout)),
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "k8s-bridge"},
        )

    async def send(self, call: Call, *, version: str, sink: Callable[[], S]) -> tuple[S, Answer]:
        """The answer and a sink, which was fed if it was a 200. Retry when there was no answer.

        A caller that is cancelled leaves; the request itself goes on to its end.
        """
        task = asyncio.create_task(self._repeated(call, version, sink))
        self._running.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        finally:
            del task  # it holds the error, which holds this frame: all that they know of would lie about

    async def close(self) -> None:
        """Turn away who waits, let requests under way end, then close the connections."""
        self._gate.close()
        if self._running:
            await asyncio.wait(self._running, timeout=FAREWELL)
        await self._client.aclose()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked may be gone; then nobody else fetches it

    async def _repeated(self, call: Call, version: str, sink: Callable[[], S]) -> tuple[S, Answer]:
        pauses = iter(PAUSES if call.repeat is Repeat.SAFE else ())
        while True:
            try:
                return await self._once(call, version, sink())
            except httpx.HTTPError as error:
                pause = next(pauses, None) if isinstance(error, _BROKEN) else None
                if pause is None:
                    raise Retry(f"{call}: {type(error).__name__} {error}".rstrip()) from error
            await asyncio.sleep(pause)

    async def _once(self, call: Call, version: str, sink: S) -> tuple[S, Answer]:
        async with self._gate.slot(call.urgency):
            self._fence(call)
            started = time.monotonic()
            status = size = 0
            body = Body(self._endpoint.max_object)
            try:
                async with untied(self._open(call, version)) as response:
                    status = response.status_code
                    target: Sink = sink if status == _OK else body
                    async for chunk in response.aiter_bytes():
                        size += len(chunk)
                        self._check(call, size=size)
                        target.feed(chunk)
            finally:
                self._on_call(call.method, call.template, status, time.monotonic() - started, size)
        return sink, Answer(status=status, body=body.whole())

    def _fence(self, call: Call) -> None:
        """Asked as late as can be: a call may have waited for its turn, or its process may have slept."""
        if call.method != "GET" and not self._may_write():
            raise Conflict(f"{call}: not sent, this instance may not write now")

    def _check(self, call: Call, *, size: int) -> None:
        if size > self._endpoint.max_body:
            raise Terminal(f"{call}: more than {self._endpoint.max_body} bytes", reason="BodyTooLarge")

    def _open(self, call: Call, version: str) -> Any:
        headers = {"X-SLURM-USER-TOKEN": self._token.token()}
        user = self._endpoint.user or self._token.user
        if user:
            headers["X-SLURM-USER-NAME"] = user
        if call.content:
            headers["Content-Type"] = "application/json"
        return self._client.stream(
            call.method,
            f"/slurm/{version}/{call.path}",
            params=dict(call.query),
            headers=headers,
            content=call.content or None,
        )
