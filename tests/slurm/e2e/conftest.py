from __future__ import annotations

import pytest

pytest.register_assert_rewrite("support.e2e")

from support.e2e.fixtures import *  # noqa: E402, F403

from k8s_bridge.sandbox.slurm_real import available  # noqa: E402
from k8s_bridge.sandbox.world import Backend  # noqa: E402


@pytest.fixture(scope="module")
def slurm(request: pytest.FixtureRequest) -> tuple[Backend, str]:
    """Slurm 24.11, or the release that a module asks for by indirect parameters."""
    release = getattr(request, "param", "24.11")
    if reason := available(release):
        pytest.skip(reason)
    return Backend.REAL, release
