from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.plugin_slurmctld import VERSIONS, Slurmctld, mixing, script


@pytest.fixture(params=VERSIONS)
def slurmctld(request: pytest.FixtureRequest) -> Callable[..., Slurmctld]:
    """Makes a slurmctld that manages the given partitions, on each version of Lua."""

    def make(*partitions: str | dict[str, Any], default: str = "other", **spec: Any) -> Slurmctld:
        return Slurmctld(script(mixing(*partitions, **spec)), version=request.param, default=default)

    return make
