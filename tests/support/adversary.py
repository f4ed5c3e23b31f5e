"""The real bridge inside the test's own process, so that every write it makes can be counted and cut off."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.core.errors import BridgeError, Retry
from k8s_bridge.kube import auth
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.gates import Gates, Transport
from k8s_bridge.runtime.logging import configure
from k8s_bridge.runtime.process import Process
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import Bind, Election, LogFormat, Settings
from k8s_bridge.sandbox.world import Unmet, World, check
from k8s_bridge.sandbox.world.config import NAMESPACE
from k8s_bridge.slurm.bridge import create
from k8s_bridge.slurm.client import SlurmClient

_WRITES = (
    (KubeClient, ("create", "apply", "patch", "delete")),
    (SlurmClient, ("update_job", "cancel", "update_nodes", "delete_node")),
)


@dataclass
class Writes:
    """Every write of the bridge. From the `last`-th on it is dead: that one still happens, or does not."""

    last: int | None = None
    last_happens: bool = True
    seen: list[str] = field(default_factory=list)
    died: asyncio.Event = field(default_factory=asyncio.Event)
    may_write: bool = True

    @property
    def counts(self) -> Counter[str]:
        return Counter(text.split()[0] for text in self.seen)

    def revive(self) -> None:
        self.last, self.died = None, asyncio.Event()

    async def through(self, name: str, call: Callable[[], Any]) -> Any:
        if self.died.is_set():
            raise Retry("dead")
        self.seen.append(name)
        if self.last is None or len(self.seen) < self.last:
            return await call()
        self.died.set()
        if self.last_happens:
            await call()
        raise Retry("dead")


_writes: ContextVar[Writes] = ContextVar("writes")
"""Of the bridge whose task this is: several run side by side."""


@contextlib.contextmanager
def spied() -> Iterator[None]:
    """Put the Writes of each bridge between it and its clients (leases and Events pass uncounted)."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, names in _WRITES:
            for name in names:
                patch.setattr(owner, name, _spy(getattr(owner, name), name))
        yield


def _spy(method: Any, name: str) -> Any:
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        writes = _writes.get(_NOBODY)
        target = args[0] if args else ""
        ref = getattr(target, "ref", target)
        kind = getattr(ref, "kind", "")
        if kind in {"Event", "Lease", "WorkloadMixing"}:
            if writes.died.is_set():
                raise Retry("dead")
            return await method(self, *args, **kwargs)
        what = f"{name} {kind} {getattr(ref, 'name', target)} {args[1:]} {kwargs if name != 'create' else ''}"
        return await writes.through(what, lambda: method(self, *args, **kwargs))

    return call


_NOBODY = Writes()


PATIENCE = 4.0
_GATES = Gates(transport=Transport.INSECURE)


@contextlib.asynccontextmanager
async def bridge(
    world: World,
    *,
    writes: Writes = _NOBODY,
    namespaces: tuple[str, ...] = (),
    log: io.StringIO | None = None,
    gates: Gates = _GATES,
    config: Path | None = None,
) -> AsyncIterator[Process]:
    """Run it until the end of the block; ends within seconds. `config` is its WorkloadMixing's file, if any.

    It shares one event loop with its world, and with other worlds beside it: what is waited for there may
    take longer than it says, however fast the machine.
    """
    world.patience = PATIENCE
    _writes.set(writes)
    settings = Settings(
        kubeconfig=Path(world.kubeconfig),
        namespaces=namespaces or (NAMESPACE,),
        config=config,
        election=Election.NONE,
        http=Bind(port=0),
        log_level="info",
        gates=gates,
    )
    server = auth.load(str(world.kubeconfig))
    redactor = Redactor()
    stream = log if log is not None else io.StringIO()
    logger = configure(level="info", form=LogFormat.JSON, stream=stream, redactor=redactor)
    process = Process(settings, create, server=server, log=logger, redactor=redactor)
    stop = asyncio.Event()
    thresholds = gc.get_threshold()
    task = asyncio.create_task(process.run(stop))
    try:
        yield process
    finally:
        stop.set()
        await task
        gc.unfreeze()
        gc.set_threshold(*thresholds)


async def all_well(world: World, *job_ids: int, seconds: float = 30.0) -> None:
    """Every job COMPLETED, all given back, every invariant holds."""
    await world.until_quiet(seconds=seconds)
    broken = [verdict for verdict in check(world.timeline) if not verdict.holds]
    assert broken == [], broken
    states = {job: world.jobs[job].state for job in job_ids}
    assert set(states.values()) <= {"COMPLETED"}, states


async def until(condition: Callable[[], Any], *, what: str, seconds: float = 20.0 * PATIENCE) -> None:
    """Wait for something that is no change of the world, such as a count."""
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.02)


async def side_by_side(stories: Mapping[str, Callable[[], Awaitable[None]]], *, at_a_time: int = 6) -> None:
    """Run stories, which mostly wait, at the same time; what went wrong is told by their names."""
    turns = asyncio.Semaphore(at_a_time)
    trouble: dict[str, str] = {}

    async def one(name: str, story: Callable[[], Awaitable[None]]) -> None:
        async with turns:
            try:
                await story()
            except (AssertionError, Unmet, BridgeError) as error:
                trouble[name] = f"{type(error).__name__}: {error}"

    await asyncio.gather(*(one(*item) for item in stories.items()))
    assert trouble == {}, trouble
