from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator

import pytest

pytest.register_assert_rewrite("conformance.cluster")

from conformance.cluster import Cluster, Side  # noqa: E402
from testbed import lifecycle  # noqa: E402
from testbed.control import kubectl  # noqa: E402
from testbed.mirror import how_to_reach  # noqa: E402
from testbed.node import ALONE  # noqa: E402
from testbed.world import Machines  # noqa: E402

from k8s_bridge.sandbox.apiserver.kinds import NODES  # noqa: E402
from k8s_bridge.sandbox.apiserver.server import ApiServer  # noqa: E402
from k8s_bridge.sandbox.apiserver.storage import Storage  # noqa: E402
from k8s_bridge.sandbox.clock import SystemClock  # noqa: E402
from k8s_bridge.sandbox.controllers.manager import Controllers  # noqa: E402
from k8s_bridge.sandbox.controllers.nodes import node_manifest  # noqa: E402
from k8s_bridge.sandbox.controllers.timing import FAST  # noqa: E402

_SPEED = 4  # the sandbox's seconds in one of ours
_MACHINE = {"cpu": "16", "memory": "24Gi", "nvidia.com/gpu": "8"}


@pytest.fixture(params=[Side.SANDBOX, pytest.param(Side.TESTBED, marks=pytest.mark.testbed)])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """A namespace of the test's own, in either world."""
    world = _sandbox() if request.param is Side.SANDBOX else _testbed()
    async with world as running:
        yield running


@contextlib.asynccontextmanager
async def _sandbox() -> AsyncIterator[Cluster]:
    async with ApiServer(Storage(clock=SystemClock(speed=_SPEED))) as server:
        controllers = Controllers(server.storage, timing=FAST)
        for node in ("node1", "node2", "system"):
            server.storage.create(NODES, node_manifest(node, _MACHINE))
        server.storage.patch(NODES, "", "system", {"spec": {"taints": [ALONE]}})
        running = asyncio.create_task(controllers.run())
        how = {"base_url": server.url}
        power_off = controllers.nodes.power_off
        async with Cluster.open(how, namespace="conf", side=Side.SANDBOX, power_off=power_off) as cluster:
            yield cluster
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert controllers.engine.failures == 0


@contextlib.asynccontextmanager
async def _testbed() -> AsyncIterator[Cluster]:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    namespace = f"conf-{secrets.token_hex(3)}"
    machines = Machines()
    try:
        async with Cluster.open(
            how_to_reach(), namespace=namespace, side=Side.TESTBED, power_off=machines.power_off
        ) as cluster:
            yield cluster
    finally:
        _remove(namespace)
        await machines.restore()


def _remove(namespace: str) -> None:
    """Everything of a test; what waits for its finalizers goes by itself."""
    kubectl("delete", "namespace", namespace, "--wait=false")
    kinds = ("clusterqueues", "resourceflavors", "workloadpriorityclasses", "admissionchecks", "cohorts")
    listed = ",".join(f"{kind}.kueue.x-k8s.io" for kind in kinds)
    for found in kubectl("get", listed, "-o", "name").split():
        if found.rpartition("/")[2].startswith(f"{namespace}-"):
            kubectl("delete", found, "--wait=false")
