from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from k8s_bridge.core.decision import Decision
from k8s_bridge.runtime.backoff import Backoff
from k8s_bridge.runtime.controller import Outcome
from k8s_bridge.runtime.loop import Loop
from k8s_bridge.runtime.queue import Queue


class _Jump(selectors.SelectSelector):
    """Waits for nothing: the time until the next timer has passed as soon as there is nothing else to do."""

    now = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise AssertionError("everything waits and no timer is set: a deadlock")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self):
        return self._jump.now


@pytest.fixture(scope="session")
def virtual() -> Callable[[Callable[[], Awaitable[Any]]], Any]:
    """Runs an async function on a loop whose hours pass in no time."""

    def run(main):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(main())

    return run


@dataclass(frozen=True)
class Write:
    text: str


@dataclass
class FakeController:
    """Decides as `plan` says: a key maps to a Decision, None or an exception; acts as `script` says."""

    plan: dict[str, Any] = field(default_factory=dict)
    script: Callable[[str, Write], Awaitable[None]] | None = None
    why: str = ""
    name: str = "team/slurm"
    holds: bool = True
    decided: list[str] = field(default_factory=list)
    acted: list[tuple[str, str]] = field(default_factory=list)
    outcomes: list[Outcome[str]] = field(default_factory=list)

    def blocked(self) -> str:
        return self.why

    def keys(self) -> list[str]:
        return list(self.plan)

    def decide(self, key: str, now: float) -> Decision[Write] | None:
        self.decided.append(key)
        answer = self.plan.get(key)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def current(self, key: str, effect: Write) -> bool:
        return self.holds

    async def act(self, key: str, effect: Write) -> None:
        self.acted.append((key, effect.text))
        if self.script is not None:
            await self.script(key, effect)

    def observe_outcome(self, outcome: Outcome[str]) -> None:
        self.outcomes.append(outcome)


def verdict(
    *texts: str, state: str = "HELD", after: float | None = None, reason: str = ""
) -> Decision[Write]:
    return Decision(state=state, effects=tuple(Write(text) for text in texts), after=after, reason=reason)


@dataclass
class Rig:
    """A loop around a fake controller."""

    controller: FakeController
    queue: Queue[str]
    loop: Loop[str, Write]
    lease: list[bool]
    outcomes: list[Outcome[str]]
    task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.loop.run())

    async def stop(self) -> None:
        self.loop.stop()
        if self.task is not None:
            await self.task


def make_rig(controller: FakeController, *, workers: int = 4, hooks=()) -> Rig:
    queue: Queue[str] = Queue(Backoff(lambda: 0.5))
    lease, outcomes = [True], []
    loop = Loop(
        controller,
        queue,
        workers=workers,
        may_write=lambda: lease[0],
        clock=lambda: 1_700_000_000.0,
        on_outcome=(*hooks, outcomes.append),
    )
    return Rig(controller, queue, loop, lease, outcomes)


@pytest.fixture
def rig():
    return make_rig


@pytest.fixture
def fake():
    return FakeController


@pytest.fixture
def decided():
    return verdict
