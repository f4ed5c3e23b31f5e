"""An event loop that never waits: when nothing can run, its clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from k8s_bridge.kube.lease import LeaderLease
from k8s_bridge.kube.reflector import Reflector
from k8s_bridge.slurm.client.gate import Gate
from k8s_bridge.slurm.poller.poller import Poller

_OWN_CLOCKS = (Gate, LeaderLease, Poller, Reflector)
"""Classes whose default clock was taken from `time` before a test could replace it."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while nothing can run."""

    def __init__(self) -> None:
        super().__init__()
        self._virtual = 0.0
        really_select = self._selector.select

        def select(timeout: float | None) -> Any:
            found = really_select(0)
            if not found and timeout:
                self._virtual += timeout
            return found

        self._selector.select = select

    def time(self) -> float:
        return self._virtual


class LoopClock:
    """The loop's time as wall-clock time."""

    start = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.start + timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


def run_virtually(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run to the end on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work())


@contextlib.contextmanager
def virtual_time() -> Iterator[asyncio.Runner]:
    """A runner on virtual time, by which the whole process reads its clocks: a world with a bridge in it.

    Everything that talks has to be in this process, on this loop: nobody waits for anybody outside.
    """
    began = time.time()
    with (
        _left_open(),
        asyncio.Runner(loop_factory=VirtualLoop) as runner,
        pytest.MonkeyPatch.context() as patch,
    ):
        now = runner.get_loop().time
        patch.setattr(time, "time", lambda: began + now())
        patch.setattr(time, "monotonic", now)
        for owner in _OWN_CLOCKS:
            patch.setitem(owner.__init__.__kwdefaults__, "clock", now)  # type: ignore[misc]
        yield runner


@contextlib.contextmanager
def _left_open() -> Iterator[None]:
    """What was killed in this process has closed nothing: that is no fault of this test, nor of the next."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()
