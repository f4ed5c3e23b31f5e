"""The client of a Ray head, against a server that answers what it is told."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from k8s_bridge.core.errors import BridgeError, Missing, Retry, Terminal
from k8s_bridge.ray import head as module
from k8s_bridge.ray.head import Address, RayHead

JOB = b'{"submission_id": "a", "status": "RUNNING"}'


@asynccontextmanager
async def answering(status: str, body: bytes) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """A call of a head that gives `status` and `body` to whatever it is asked."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    head = RayHead()
    address = Address(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield lambda: head.submission(address, "a")
    finally:
        await head.aclose()
        server.close()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        ("404 Not Found", Missing, "404 no such job"),
        ("401 Unauthorized", Terminal, "401 no such job"),
        ("403 Forbidden", Terminal, "403 no such job"),
        ("500 Oops", Retry, "500 no such job"),
        ("200 OK", Retry, "cannot be read"),
    ],
)
async def test_what_an_answer_means(status: str, error: type[BridgeError], text: str) -> None:
    async with answering(status, b"no such job") as call:
        with pytest.raises(error, match=text):
            await call()


async def test_brackets_without_end_are_no_answer() -> None:
    async with answering("200 OK", b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}") as call:
        with pytest.raises(Retry, match="cannot be read"):
            await call()


async def test_a_body_above_the_cap_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BODY_MAX", 100)
    async with answering("200 OK", b"x" * 101) as call:
        with pytest.raises(Terminal, match="more than 100 bytes"):
            await call()


@pytest.mark.parametrize(("status", "body"), [("200 OK", JOB), ("404 Not Found", b"x"), ("500 Oops", b"x")])
async def test_an_answer_leaves_nothing_to_the_garbage_collector(status: str, body: bytes) -> None:
    async with answering(status, body) as call:

        async def once() -> None:
            with suppress(BridgeError):
                await call()

        await once()
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                await once()
            assert gc.collect() < 20
        finally:
            gc.enable()
