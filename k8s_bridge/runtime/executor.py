"""Carries out the effects of one decision, in order. The only place that calls `Controller.act`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Event
from k8s_bridge.core.errors import Conflict, Retry, Terminal
from k8s_bridge.runtime.controller import Controller, Outcome, Result

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")

Emit = Callable[[Outcome[K]], None]


class Executor(Generic[K, E]):
    """`may_write` is asked before each effect: the lease is ours and nobody asked to stop."""

    def __init__(self, controller: Controller[K, E], *, may_write: Callable[[], bool], emit: Emit[K]) -> None:
        self._controller = controller
        self._may_write = may_write
        self._emit = emit

    async def run(self, key: K, decision: Decision[E]) -> Exception | None:
        """Carry out `decision`; the first failure ends the pass and is returned.

        Events are still told then: they say what was seen, not what was done.
        """
        failure: Exception | None = None
        for effect in decision.effects:
            if failure is None or isinstance(effect, Event):
                error = await self._one(key, effect, decision)
                failure = failure or error
        return failure

    async def _one(self, key: K, effect: E, decision: Decision[E]) -> Exception | None:
        clock = asyncio.get_running_loop().time
        started = clock()
        result, error = await self._attempt(key, effect)
        self._emit(
            Outcome(
                controller=self._controller.name,
                key=key,
                result=result,
                state=decision.state,
                effect=type(effect).__name__,
                reason=error.reason if isinstance(error, Terminal) else decision.reason,
                text=str(error) if error is not None else decision.text,
                seconds=clock() - started,
                error=error,
            )
        )
        return error

    async def _attempt(self, key: K, effect: E) -> tuple[Result, Exception | None]:
        if not self._may_write():
            return Result.FENCED, Conflict("not carried out: this instance may not write now")
        try:
            if not self._controller.current(key, effect):
                return Result.STALE, Conflict("not carried out: what it rested on has changed")
            await self._controller.act(key, effect)
        except Exception as error:  # noqa: BLE001 - one bad unit must not stop another
            return classify(error), error
        return Result.DONE, None


def classify(error: Exception) -> Result:
    """The result that an exception of `act` or `decide` stands for."""
    match error:
        case Conflict():
            return Result.CONFLICT
        case Terminal():
            return Result.TERMINAL
        case Retry():
            return Result.RETRY
        case _:
            return Result.BUG
