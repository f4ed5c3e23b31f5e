"""One bridge for each WorkloadMixing: started, reloaded, restarted after a crash, stopped.

It never looks into a bridge. What happens to one bridge touches no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from k8s_bridge.runtime.backoff import exponential
from k8s_bridge.runtime.waiting import wait

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)

FIRST_RESTART_SECONDS = 1.0
STEADY_SECONDS = 300.0
"""A bridge that ran this long had recovered: its next crash counts as the first."""

ABANDON_SECONDS = 10.0
"""Twice what a graceful end may take."""


class RunningBridge(Protocol[M_contra]):
    """A bridge for one WorkloadMixing."""

    async def run(self) -> None:
        """Work until `stop` and return within seconds of it; any exception is a crash."""

    def stop(self) -> None:
        """Begin a graceful end. May be called more than once, and before `run`."""

    def reload(self, mixing: M_contra) -> None:
        """Go on with another spec of the same WorkloadMixing."""


class Change(StrEnum):
    """What the supervisor did; the value is part of the log event."""

    STARTED = "started"
    RELOADED = "reloaded"
    STOPPED = "stopped"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One thing that the supervisor did to the bridge called `name`; `error` only with CRASHED."""

    name: str
    change: Change
    text: str = ""
    error: BaseException | None = None


class Supervisor(Generic[M]):
    """Makes the bridges that run those that are wanted. `factory(mixing)` builds one, without I/O."""

    def __init__(
        self,
        factory: Callable[[M], RunningBridge[M]],
        *,
        report: Callable[[Report], None],
        random: Callable[[], float],
    ) -> None:
        self._factory = factory
        self._report = report
        self._random = random
        self._keepers: dict[str, _Keeper[M]] = {}
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._wanted: Mapping[str, M] = {}
        self._stopped = False

    @property
    def names(self) -> tuple[str, ...]:
        """The bridges that are kept running now, or are still ending."""
        return tuple(self._keepers)

    def want(self, mixings: Mapping[str, M]) -> None:
        """From now on exactly these, by `namespace/name`; equal values change nothing. None after `stop`."""
        self._wanted = {} if self._stopped else dict(mixings)
        for name, keeper in self._keepers.items():
            if name not in self._wanted:
                keeper.stop()
        for name, mixing in self._wanted.items():
            self._keep(name, mixing)

    async def stop(self) -> None:
        """Stop all bridges and wait until they have ended; one that hangs is abandoned after a while.

        An edit that is seen meanwhile starts nothing: nobody would end it.
        """
        self._stopped = True
        self.want({})
        if not self._tasks:
            return
        _, hung = await asyncio.wait(self._tasks, timeout=ABANDON_SECONDS)
        for task in hung:
            task.cancel()
        if hung:
            await asyncio.wait(hung)

    def _keep(self, name: str, mixing: M) -> None:
        keeper = self._keepers.get(name)
        if keeper is None:
            self._start(name, mixing)
        else:
            keeper.reload(mixing)

    def _start(self, name: str, mixing: M) -> None:
        keeper = _Keeper(name, mixing, factory=self._factory, report=self._report, random=self._random)
        self._keepers[name] = keeper
        task = asyncio.get_running_loop().create_task(keeper.run(), name=f"bridge {name}")
        self._tasks[task] = name
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        name = self._tasks.pop(task)
        del self._keepers[name]
        if name in self._wanted:  # deleted and made again while the first was still ending
            self._start(name, self._wanted[name])


class _Keeper(Generic[M]):
    """Keeps one bridge running."""

    def __init__(
        self,
        name: str,
        mixing: M,
        *,
        factory: Callable[[M], RunningBridge[M]],
        report: Callable[[Report], None],
        random: Callable[[], float],
    ) -> None:
        self._name = name
        self._mixing = mixing
        self._factory = factory
        self._report = report
        self._random = random
        self._bridge: RunningBridge[M] | None = None
        self._crashes = 0
        self._failure: Exception | None = None
        self._changed = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Until stopped; a crash is reported and the bridge is built anew after a back-off."""
        while not self._stopping:
            error = await self._once()
            if error is not None and not self._stopping:
                await self._rest(error)
        self._tell(Change.STOPPED)

    def reload(self, mixing: M) -> None:
        """Another spec; the same spec is no change. A bridge that rests after a crash is tried at once."""
        if self._stopping or mixing == self._mixing:
            return
        self._mixing = mixing
        self._changed.set()
        if self._bridge is None:
            return
        try:
            self._bridge.reload(mixing)
        except Exception as error:  # noqa: BLE001 - a reload that fails is a crash of this bridge
            self._failure = error
            self._bridge.stop()
        else:
            self._tell(Change.RELOADED)

    def stop(self) -> None:
        """End it for good."""
        self._stopping = True
        self._changed.set()
        if self._bridge is not None:
            self._bridge.stop()

    async def _once(self) -> Exception | None:
        time = asyncio.get_running_loop().time
        started = time()
        try:
            self._bridge = self._factory(self._mixing)
            self._tell(Change.STARTED)
            await self._bridge.run()
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this bridge only
            return error
        else:
            return None if self._stopping else self._why_ended()
        finally:
            self._bridge = None
            if time() - started >= STEADY_SECONDS:
                self._crashes = 0

    def _why_ended(self) -> Exception:
        failure, self._failure = self._failure, None
        return failure or RuntimeError("the bridge ended without being told to")

    async def _rest(self, error: Exception) -> None:
        self._crashes += 1
        seconds = exponential(self._crashes, self._random, first=FIRST_RESTART_SECONDS)
        self._tell(Change.CRASHED, text=f"{error!r}; starting again in {seconds:.1f} s", error=error)
        self._changed.clear()
        await wait(self._changed, seconds=seconds)

    def _tell(self, change: Change, *, text: str = "", error: Exception | None = None) -> None:
        self._report(Report(name=self._name, change=change, text=text, error=error))
