"""What the loop itself costs for one unit: decide, check, act and settle, all of them empty.

Run: python bench/loop_overhead.py [units]. The budget is a ratio in one run: the loop may cost at most as
much as `BUDGET` bare asyncio tasks, because a pass is one task and must stay about that cheap.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from k8s_bridge.core.decision import Decision
from k8s_bridge.runtime.backoff import Backoff
from k8s_bridge.runtime.controller import Outcome
from k8s_bridge.runtime.loop import Loop
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.queue import Queue

UNITS = 20_000
BUDGET = 8.0
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Nothing:
    """An effect without an effect."""


class Empty:
    """Decides the same for each unit and does nothing."""

    name = "bench/loop"
    verdict = Decision(state="HELD", effects=(Nothing(),))

    def __init__(self, units: int) -> None:
        self.left = units
        self.done = asyncio.Event()

    def blocked(self) -> str:
        """Never."""
        return ""

    def keys(self) -> Iterable[int]:
        """None: the units are added by hand."""
        return ()

    def decide(self, key: int, now: float) -> Decision[Nothing]:  # noqa: ARG002
        """The one verdict."""
        return self.verdict

    def current(self, key: int, effect: Nothing) -> bool:  # noqa: ARG002
        """Always."""
        return True

    async def act(self, key: int, effect: Nothing) -> None:
        """Nothing."""

    def observe_outcome(self, outcome: Outcome[int]) -> None:
        """Counts the effects."""
        if outcome.effect:
            self.left -= 1
            if not self.left:
                self.done.set()


async def of_loop(units: int) -> float:
    """Seconds for one unit through the loop, with metrics hooked on as in production."""
    controller, queue = Empty(units), Queue[int](Backoff(lambda: 0.5))
    hooks = (Metrics(lambda: True).outcome,)
    loop = Loop(controller, queue, workers=8, may_write=lambda: True, clock=time.time, on_outcome=hooks)
    task = asyncio.create_task(loop.run())
    await asyncio.sleep(0.01)
    began = time.perf_counter()
    for key in range(units):
        queue.add(key)
    await controller.done.wait()
    seconds = time.perf_counter() - began
    loop.stop()
    await task
    return seconds / units


async def of_tasks(units: int) -> float:
    """Seconds for one bare task, eight at a time."""

    async def nothing() -> None:
        pass

    began = time.perf_counter()
    for _ in range(units // 8):
        await asyncio.gather(*(nothing() for _ in range(8)))
    return (time.perf_counter() - began) / units


def main() -> None:
    """Print both, and fail when the ratio is above the budget."""
    units = int(sys.argv[1]) if len(sys.argv) > 1 else UNITS
    loop = statistics.median(asyncio.run(of_loop(units)) for _ in range(ROUNDS))
    task = statistics.median(asyncio.run(of_tasks(units)) for _ in range(ROUNDS))
    print(
        f"loop {loop * 1e6:.1f} us/unit, bare task {task * 1e6:.1f} us, ratio {loop / task:.1f} of {BUDGET}"
    )
    if loop / task > BUDGET:
        sys.exit("over budget")


if __name__ == "__main__":
    main()
