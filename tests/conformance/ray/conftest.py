from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import yaml

pytest.register_assert_rewrite("conformance.ray.side")

from conformance.cluster import Side  # noqa: E402
from conformance.ray.side import Ray  # noqa: E402
from testbed import lifecycle, ray_cluster  # noqa: E402
from testbed.mirror import how_to_reach  # noqa: E402
from testbed.places import HERE  # noqa: E402

from k8s_bridge.sandbox.apiserver.kinds import BY_KIND, NODES  # noqa: E402
from k8s_bridge.sandbox.apiserver.server import ApiServer  # noqa: E402
from k8s_bridge.sandbox.apiserver.storage import Storage  # noqa: E402
from k8s_bridge.sandbox.clock import SystemClock  # noqa: E402
from k8s_bridge.sandbox.controllers.manager import Controllers  # noqa: E402
from k8s_bridge.sandbox.controllers.nodes import node_manifest  # noqa: E402
from k8s_bridge.sandbox.controllers.timing import FAST  # noqa: E402

_MANIFEST = HERE / "manifests/ray.yaml"
_SPEED = 4  # the sandbox's seconds in one of ours


@pytest.fixture(scope="session")
def testbed_ray():
    """The testbed's shared cluster, for all tests."""
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    with ray_cluster.running() as cluster:
        yield cluster


@pytest.fixture(params=[Side.SANDBOX, pytest.param(Side.TESTBED, marks=pytest.mark.testbed)])
async def ray(request: pytest.FixtureRequest) -> AsyncIterator[Ray]:
    """A shared RayCluster that is ready, in either world."""
    if request.param is Side.SANDBOX:
        async with _sandbox() as found:
            yield found
    else:
        request.getfixturevalue("testbed_ray")
        async with Ray.open(how_to_reach(), side=Side.TESTBED) as found:
            yield found


@contextlib.asynccontextmanager
async def _sandbox() -> AsyncIterator[Ray]:
    async with ApiServer(Storage(clock=SystemClock(speed=_SPEED))) as server:
        controllers = Controllers(server.storage, timing=FAST)
        for node in ("node1", "node2"):
            server.storage.create(NODES, node_manifest(node, {"cpu": "16", "memory": "24Gi"}))
        running = asyncio.create_task(controllers.run())
        for document in yaml.safe_load_all(_MANIFEST.read_text()):
            server.storage.create(BY_KIND[document["apiVersion"], document["kind"]], document)
        try:
            async with Ray.open({"base_url": server.url}, side=Side.SANDBOX) as found:
                yield found
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert controllers.engine.failures == 0
