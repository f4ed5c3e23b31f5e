from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import pytest_asyncio

pytest.register_assert_rewrite("support.e2e")

from support.e2e.fixtures import *  # noqa: E402, F403
from support.e2e.fixtures import MakeWorld  # noqa: E402
from support.e2e.keeper import Keeper  # noqa: E402

from k8s_bridge.sandbox.world import Backend, World, WorldConfig  # noqa: E402
from testbed import lifecycle  # noqa: E402
from testbed.lanes import Lanes  # noqa: E402
from testbed.places import HERE  # noqa: E402
from testbed.world import RealWorld, clear_all  # noqa: E402

_LIMIT = 600
"""Seconds for a test: the scenarios' own limits are those of a sandbox."""


def pytest_sessionstart(session: pytest.Session) -> None:
    of_a_worker = hasattr(session.config, "workerinput")
    if not of_a_worker and lifecycle.is_here():
        clear_all()


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Lanes | None:
    return Lanes(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_LIMIT), append=False)


@pytest.fixture(scope="module")
def slurm() -> Iterator[tuple[Backend, str]]:
    """Makes every world of a module one of the testbed."""
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "start", RealWorld.start)
        yield Backend.REAL, "24.11"


@pytest_asyncio.fixture(loop_scope="module")
async def make_world(make_config: Callable[..., WorldConfig], keeper: Keeper) -> MakeWorld:
    """A world of one's own, without a bridge. The module's goes before: the testbed has room for one."""
    await keeper.close()
    return lambda **more: World.start(make_config(**more))
