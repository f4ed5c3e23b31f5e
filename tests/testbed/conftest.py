from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("support.e2e")

from support.e2e.fixtures import *  # noqa: E402, F403

from k8s_bridge.sandbox.world import Backend, World  # noqa: E402
from testbed import lifecycle  # noqa: E402
from testbed.world import RealWorld  # noqa: E402


@pytest.fixture(scope="module")
def slurm() -> Iterator[tuple[Backend, str]]:
    """Makes every world of a module one of the testbed."""
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "start", RealWorld.start)
        yield Backend.REAL, "24.11"
