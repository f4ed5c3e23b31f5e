"""The HTTP face as an ASGI application: reads requests, applies faults, writes replies and watch streams."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from k8s_bridge.sandbox.apiserver import discovery
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request, expired
from k8s_bridge.sandbox.apiserver.faults import (
    Answer,
    CutWatch,
    Delay,
    Drop,
    Fault,
    Faults,
    HalfOpen,
    LoseAnswer,
    Trickle,
    WatchEnd,
)
from k8s_bridge.sandbox.apiserver.handlers import Handlers, Reply, refusal, selection
from k8s_bridge.sandbox.apiserver.history import line
from k8s_bridge.sandbox.apiserver.protocol import ABORT
from k8s_bridge.sandbox.apiserver.requests import Request, query_of, target_of, verb_of
from k8s_bridge.sandbox.apiserver.reviews import Reviews
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.apiserver.watching import Watch, WatchOptions

_TOO_OLD = "too old resource version: 1 (2)"
_HEALTH = ("/readyz", "/livez", "/healthz")


class End(Enum):
    """How serving a request ended: with an answer, or to end in a broken connection."""

    WHOLE = "whole"
    BROKEN = "broken"


class App:
    """The application. `tokens` empty admits everyone; otherwise one of them must be the bearer token."""

    def __init__(self, storage: Storage, *, faults: Faults | None = None, tokens: frozenset[str]) -> None:
        self.storage = storage
        self.faults = faults or Faults()
        self.handlers = Handlers(storage)
        self.reviews = Reviews()
        self.served: Counter[tuple[str, str]] = Counter()  # (verb, plural) of every request that came in
        self._tokens = tokens
        self._watches: set[Watch] = set()
        self._stopping = asyncio.Event()
        self._documents = {path: msgspec.json.encode(body) for path, body in discovery.documents().items()}
        self._random = random.Random(0)  # noqa: S311 - spreads the ends of watches, nothing more

    def close(self) -> None:
        """End all watches and half-open requests."""
        self._stopping.set()
        self.end_watches()

    def end_watches(self) -> None:
        """End those that are open, as servers do now and then."""
        for watch in self._watches:
            watch.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        body = await _body(receive)
        try:
            self._check_token(headers)
            request = self._request(scope, headers)
        except ApiError as error:
            await _reply(send, refusal(error))
            return
        if request is None:
            review = self.reviews.answer(scope["path"], body)
            await _reply(send, self._document(scope["path"]) if review is None else _reviewed(review))
            return
        self.served[request.verb, request.target.kind.plural] += 1
        fault = self.faults.strike(verb=request.verb, kind=request.target.kind)
        if await self._serve(request, body, fault, receive, send) is End.BROKEN:
            scope["extensions"][ABORT]()
            await _until_gone(receive)

    def _check_token(self, headers: Mapping[str, str]) -> None:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if self._tokens and given not in self._tokens:
            raise ApiError(401, "Unauthorized", "Unauthorized")

    def _request(self, scope: Scope, headers: Mapping[str, str]) -> Request | None:
        target = target_of(scope["path"])
        if target is None:
            return None
        query = query_of(scope["query_string"])
        verb = verb_of(scope["method"], target, query)
        return Request(verb=verb, target=target, query=query, headers=headers)

    def _document(self, path: str) -> Reply:
        if path in _HEALTH:
            return Reply(body=b"ok", headers={"content-type": "text/plain"})
        body = self._documents.get(path.rstrip("/"))
        if body is not None:
            return Reply(body=body)
        return refusal(ApiError(404, "NotFound", "the server could not find the requested resource"))

    async def _serve(
        self, request: Request, body: bytes, fault: Fault | None, receive: Receive, send: Send
    ) -> End:
        match fault:
            case Answer():
                return await _reply(send, _injected(fault))
            case Drop():
                return End.BROKEN
            case HalfOpen() if request.verb != "watch":
                return await self._silence(receive)
            case Delay():
                await asyncio.sleep(fault.seconds)
            case _:
                pass
        if request.verb == "watch":
            return await self._watch(request, fault, receive, send)
        reply = self.handlers.serve(request, body)
        return End.BROKEN if isinstance(fault, LoseAnswer) else await _reply(send, reply, fault)

    async def _silence(self, receive: Receive) -> End:
        """Say nothing until the peer or the server goes."""
        ends = {asyncio.create_task(_until_gone(receive)), asyncio.create_task(self._stopping.wait())}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in ends:
            task.cancel()
        return End.BROKEN

    async def _watch(self, request: Request, fault: Fault | None, receive: Receive, send: Send) -> End:
        try:
            watch = Watch(self.storage, self._options(request))
        except ApiError as error:
            return await _reply(send, refusal(error))
        self._watches.add(watch)
        peer = asyncio.create_task(_until_gone(receive))
        peer.add_done_callback(lambda _: watch.close())
        try:
            await _start(send, 200, {"content-type": "application/json"})
            return await _stream(watch, fault, send)
        finally:
            self._watches.discard(watch)
            peer.cancel()

    def _options(self, request: Request) -> WatchOptions:
        text = request.query.get("resourceVersion", "")
        if text and not text.isdecimal():
            raise bad_request(f"Invalid value: {text!r}: strconv.ParseUint: parsing {text!r}: invalid syntax")
        seconds = request.number("timeoutSeconds")
        return WatchOptions(
            kind=request.target.kind,
            namespace=request.target.namespace,
            selection=selection(request),
            rv=int(text) if text else None,
            seconds=seconds or self._random.uniform(1800, 3600),
            bookmarks=request.flag("allowWatchBookmarks"),
        )


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message: Any = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _start(send: Send, code: int, headers: Mapping[str, str]) -> None:
    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": code, "headers": raw})


async def _reply(send: Send, reply: Reply, fault: Fault | None = None) -> End:
    length = {"content-type": "application/json", "content-length": str(len(reply.body))}
    await _start(send, reply.code, length | reply.headers)
    if not isinstance(fault, Trickle):
        await send({"type": "http.response.body", "body": reply.body})
        return End.WHOLE
    size = max(len(reply.body) // fault.pieces, 1)
    for begin in range(0, len(reply.body), size):
        await asyncio.sleep(fault.seconds)
        await _chunk(send, reply.body[begin : begin + size])
    return await _finish(send)


async def _chunk(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _stream(watch: Watch, fault: Fault | None, send: Send) -> End:
    if isinstance(fault, CutWatch | HalfOpen):
        return await _faulty_stream(watch, fault, send)
    async for batch in watch.batches():
        await _chunk(send, b"".join(batch))
    return await _finish(send)


async def _faulty_stream(watch: Watch, fault: CutWatch | HalfOpen, send: Send) -> End:
    if fault.after == 0:
        return await _strike(watch, fault, send)
    sent = 0
    async for batch in watch.batches():
        for item in batch:
            await _chunk(send, item)
            sent += 1
            if sent == fault.after:
                return await _strike(watch, fault, send)
    return await _finish(send)


async def _strike(watch: Watch, fault: CutWatch | HalfOpen, send: Send) -> End:
    if isinstance(fault, HalfOpen):
        await watch.closed.wait()
        return End.BROKEN
    if fault.how is WatchEnd.ABORT:
        return End.BROKEN
    if fault.how is WatchEnd.GONE:
        await _chunk(send, line("ERROR", msgspec.json.encode(expired(_TOO_OLD).status())))
    return await _finish(send)


async def _finish(send: Send) -> End:
    await send({"type": "http.response.body", "body": b""})
    return End.WHOLE


def _reviewed(review: Json) -> Reply:
    return Reply(code=201, body=msgspec.json.encode(review))


def _injected(fault: Answer) -> Reply:
    error = ApiError(fault.code, fault.reason, fault.message)
    reply = refusal(error)
    if fault.retry_after is None:
        return reply
    return Reply(code=reply.code, body=reply.body, headers={"retry-after": str(fault.retry_after)})
