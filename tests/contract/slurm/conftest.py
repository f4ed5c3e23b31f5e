from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from k8s_bridge.slurm.client import SlurmClient, SlurmEndpoint, TokenSource
from tests.contract.http_server import HttpServer

TOKEN = "header.eyJleHAiOiA0MTAyNDQ0ODAwLCAic3VuIjogInJvb3QifQ.signature"
"""Of root, until the year 2100."""

MakeClient = Callable[..., SlurmClient]


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with HttpServer() as running:
        yield running


@pytest.fixture
async def client_of(server: HttpServer) -> AsyncIterator[MakeClient]:
    """Makes clients of the scripted server; settings are those of SlurmEndpoint."""
    made: list[SlurmClient] = []

    def make(*, token: str = TOKEN, **settings: object) -> SlurmClient:
        endpoint = SlurmEndpoint(base_url=server.url, timeout=5.0, **settings)  # type: ignore[arg-type]
        made.append(SlurmClient(endpoint, token=TokenSource(lambda: token, name="test")))
        return made[-1]

    yield make
    for client in made:
        await client.close()
