from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

pytest.register_assert_rewrite("conformance.apiserver.api")

from conformance.apiserver.api import Api  # noqa: E402
from conformance.cluster import Side  # noqa: E402
from testbed import lifecycle  # noqa: E402
from testbed.mirror import how_to_reach  # noqa: E402

from k8s_bridge.sandbox.apiserver.server import ApiServer  # noqa: E402

_NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(params=[Side.SANDBOX, pytest.param(Side.TESTBED, marks=pytest.mark.testbed)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    """A namespace of the test's own. In the sandbox no controller is at work."""
    opened = _sandbox() if request.param is Side.SANDBOX else _testbed()
    async with opened as http:
        namespace = f"conf-api-{secrets.token_hex(3)}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        (await http.post(_NAMESPACES, json=body)).raise_for_status()
        api = Api(http, namespace)
        if request.param is Side.TESTBED:
            await _settled(api)
        yield api
        await http.delete(f"{_NAMESPACES}/{namespace}")


@contextlib.asynccontextmanager
async def _sandbox() -> AsyncIterator[httpx.AsyncClient]:
    async with ApiServer() as server, _client({"base_url": server.url}) as http:
        yield http


@contextlib.asynccontextmanager
async def _testbed() -> AsyncIterator[httpx.AsyncClient]:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    async with _client(how_to_reach()) as http:
        yield http


async def _settled(api: Api) -> None:
    """A controller puts a ConfigMap into each new namespace, and a test's watch would see it come."""
    async with api.watching("configmaps", fieldSelector="metadata.name=kube-root-ca.crt") as events:
        await asyncio.wait_for(events.get(), 20)


def _client(how: dict[str, Any]) -> httpx.AsyncClient:
    return httpx.AsyncClient(**how, timeout=httpx.Timeout(20.0, read=None))
