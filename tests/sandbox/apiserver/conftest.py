from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def storage(clock: ManualClock) -> Storage:
    return Storage(clock=clock)


@pytest.fixture
async def server(storage: Storage) -> AsyncIterator[ApiServer]:
    async with ApiServer(storage) as running:
        yield running


@pytest.fixture
async def http(server: ApiServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=10) as client:
        yield client


class Stream:
    """A watch as a client sees it."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> dict:
        return json.loads(await anext(self._lines))

    async def seen(self) -> tuple[str, str]:
        event = await self.next()
        return event["type"], event["object"]["metadata"].get("name", "")

    async def rest(self) -> list[dict]:
        return [json.loads(line) async for line in self._lines]


@pytest.fixture
def watching(http: httpx.AsyncClient):
    @contextlib.asynccontextmanager
    async def watch(path: str, **query: object) -> AsyncIterator[Stream]:
        async with http.stream("GET", path, params={"watch": "1", **query}) as response:
            yield Stream(response)

    return watch
