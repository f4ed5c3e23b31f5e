"""Who may not come in."""

from __future__ import annotations

import httpx
import pytest
from conformance.apiserver.api import Answer
from testbed import lifecycle
from testbed.mirror import how_to_reach

from k8s_bridge.sandbox.apiserver.server import ApiServer

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
_NONSENSE = {"Authorization": "Bearer nonsense"}


async def test_a_token_that_is_none_in_the_sandbox() -> None:
    async with (
        ApiServer(tokens=frozenset({"right"})) as server,
        httpx.AsyncClient(base_url=server.url) as http,
    ):
        assert_unauthorized(await http.get(_LEASES, headers=_NONSENSE))


@pytest.mark.testbed
async def test_a_token_that_is_none_on_the_testbed() -> None:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    async with httpx.AsyncClient(**(how_to_reach() | {"headers": _NONSENSE}), timeout=20) as http:
        assert_unauthorized(await http.get(_LEASES))


def assert_unauthorized(answer: httpx.Response) -> None:
    status = Answer(answer.status_code, answer.json())
    assert (status.said, status.message) == ((401, "Unauthorized"), "Unauthorized")
    assert status.body["kind"] == "Status"
