"""What goes through the tap is told, and arrives as it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from bench.tap import Answer, Request, Tap

WATCH = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"
PLAIN = b"HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nmade"


class Told:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[Answer] = []


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = next((int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.startswith(b"content-l")), 0)
            await reader.readexactly(size)
            writer.write(WATCH if b"watch=1" in head else PLAIN)
    except asyncio.IncompleteReadError:
        writer.close()


@pytest.fixture
async def told() -> AsyncIterator[tuple[Told, httpx.AsyncClient]]:
    told = Told()
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    async with (
        server,
        Tap(on_request=told.requests.append, on_answer=told.answers.append) as tap,
        httpx.AsyncClient(base_url=tap.url) as client,
    ):
        tap.upstream = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield told, client


async def test_each_request_and_its_answer_are_told_on_one_connection(told):
    told, client = told
    for number in range(2):
        answer = await client.post(f"/job/{number}?a=b", content=b"x" * 20_000)
        assert (answer.status_code, answer.content) == (201, b"made")
    assert [(r.method, r.path, r.query, len(r.body)) for r in told.requests] == [
        ("POST", "/job/0", "a=b", 20_000),
        ("POST", "/job/1", "a=b", 20_000),
    ]
    assert [(a.request, a.status, a.body) for a in told.answers] == [(r, 201, b"made") for r in told.requests]
    first, second = told.answers
    assert first.request.received <= first.sent <= second.request.received <= second.sent


async def test_a_watch_is_told_when_it_begins_and_its_events_pass_at_once(told):
    told, client = told
    async with client.stream("GET", "/pods?watch=1") as watch:
        async for piece in watch.aiter_raw():
            assert piece == b"hello"
            break
        assert [r.query for r in told.requests] == ["watch=1"]
        assert told.answers == []
