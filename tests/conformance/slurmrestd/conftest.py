from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

pytest.register_assert_rewrite("conformance.slurmrestd.world")

from conformance.slurmrestd.world import World, fake  # noqa: E402

from k8s_bridge.sandbox.slurm_real import RealSlurm, available  # noqa: E402

_CONF = """
Licenses=matlab:1
MinJobAge=5
"""


@pytest.fixture(scope="session")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSlurm]:
    """Real ones, for one test after the other."""
    if reason := available("24.11"):
        pytest.skip(reason)
    directory = tmp_path_factory.mktemp("slurm")
    slurm = asyncio.run(RealSlurm.start("24.11", directory, extra_conf=_CONF))
    yield slurm
    asyncio.run(slurm.stop())


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.slurm)])
def real(request: pytest.FixtureRequest) -> RealSlurm | None:
    """None for the fake's turn."""
    return request.getfixturevalue("daemons") if request.param == "real" else None


@pytest.fixture
async def world(real: RealSlurm | None) -> AsyncIterator[World]:
    """An empty cluster with one licence of matlab, which purges jobs soon."""
    slurm = real or await fake()
    one = World(slurm)
    yield one
    await one.http.aclose()
    await (slurm.reset() if isinstance(slurm, RealSlurm) else slurm.stop())
