"""Of JobSets with something wrong in them the sandbox takes and refuses the same as the real server."""

from __future__ import annotations

import json

import httpx
import pytest
from conformance.apiserver.api import Answer, Api
from conformance.apiserver.mutations import mutated
from conformance.apiserver.schemas import FILE, fetched
from testbed import lifecycle
from testbed.mirror import how_to_reach

from k8s_bridge.sandbox.apiserver.kinds import BY_KIND
from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.controllers.manager import Controllers

pytestmark = pytest.mark.testbed
SEEDS = range(300)


async def verdict(api: Api, seed: int) -> Answer:
    """A dry run in the namespace `default`."""
    document = mutated(seed)
    document["metadata"]["namespace"] = "default"
    kind = BY_KIND[document["apiVersion"], document["kind"]]
    path = f"/apis/{kind.group}/{kind.version}/namespaces/default/{kind.plural}"
    return await api.call("POST", path, document, query={"dryRun": "All"})


def told(answer: Answer) -> tuple[int, set[tuple[str, str]]]:
    """The code, and which fields are to blame; webhooks name fields in their own words."""
    return answer.code, answer.causes


async def test_the_verdicts_are_the_same() -> None:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    async with ApiServer() as server:
        Controllers(server.storage)
        async with (
            httpx.AsyncClient(base_url=server.url, timeout=20) as ours,
            httpx.AsyncClient(**how_to_reach(), timeout=20) as theirs,
        ):
            different = {}
            for seed in SEEDS:
                mine, real = await verdict(Api(ours, ""), seed), await verdict(Api(theirs, ""), seed)
                if told(mine) != told(real):
                    different[seed] = (told(mine), mine.message, told(real), real.message)
    assert different == {}


async def test_the_sandbox_has_the_schemas_of_the_real_server() -> None:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    assert json.loads(FILE.read_text()) == fetched()
