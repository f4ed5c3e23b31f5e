"""Fixtures of both sets; each set says by `slurm` what its worlds run on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from k8s_bridge.sandbox.world import Backend, World, WorldConfig
from support.e2e.keeper import Keeper

MakeWorld = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture(scope="module")
def make_config(
    slurm: tuple[Backend, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., WorldConfig]:
    root: Path = tmp_path_factory.mktemp("worlds")
    numbers = count()

    def make(**more: Any) -> WorldConfig:
        backend, release = slurm
        return WorldConfig(directory=root / f"w{next(numbers)}", slurm=backend, release=release, **more)

    return make


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keeper(make_config: Callable[..., WorldConfig]) -> AsyncIterator[Keeper]:
    kept = Keeper(make_config())
    yield kept
    await kept.close()


@pytest_asyncio.fixture(loop_scope="module")
async def world(keeper: Keeper) -> AsyncIterator[World]:
    """A quiet world with a bridge; what a scenario leaves has to come to rest by itself."""
    yield await keeper.world()
    await keeper.settle()


@pytest.fixture
def make_world(make_config: Callable[..., WorldConfig]) -> MakeWorld:
    """A world of one's own, without a bridge."""
    return lambda **more: World.start(make_config(**more))
