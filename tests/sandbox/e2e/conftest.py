from __future__ import annotations

import pytest

pytest.register_assert_rewrite("support.e2e")

from support.e2e.fixtures import *  # noqa: E402, F403

from k8s_bridge.sandbox.world import Backend  # noqa: E402


@pytest.fixture(scope="module")
def slurm() -> tuple[Backend, str]:
    return Backend.FAKE, "24.11"
