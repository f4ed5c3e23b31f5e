"""One pass over one unit: decide, tell a new verdict, carry out, settle with the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from k8s_bridge.core.decision import Decision
from k8s_bridge.runtime.controller import Controller, Hook, Outcome, Result
from k8s_bridge.runtime.executor import Executor, classify
from k8s_bridge.runtime.queue import Queue

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")


class Hooks(Generic[K]):
    """Everyone who is told of outcomes. A hook that raises is reported and harms nobody."""

    def __init__(self, hooks: Sequence[Hook[K]]) -> None:
        self._hooks = tuple(hooks)

    def __call__(self, outcome: Outcome[K]) -> None:
        """Tell all of them, in order."""
        for hook in self._hooks:
            try:
                hook(outcome)
            except Exception as error:  # noqa: BLE001 - a log line must not cost a unit
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"a hook failed on {outcome.result} of {outcome.key}", "exception": error}
                )


class Passes(Generic[K, E]):
    """Runs passes; remembers the last verdict on each unit so that only a change is told."""

    def __init__(
        self,
        controller: Controller[K, E],
        queue: Queue[K],
        *,
        may_write: Callable[[], bool],
        clock: Callable[[], float],
        emit: Hooks[K],
    ) -> None:
        self._controller = controller
        self._queue = queue
        self._clock = clock
        self._emit = emit
        self._executor = Executor(controller, may_write=may_write, emit=emit)
        self._verdicts: dict[K, tuple[str, str]] = {}

    async def run(self, key: K) -> None:
        """The pass over `key`. Never raises: what goes wrong is an outcome and a back-off."""
        try:
            decision = self._controller.decide(key, self._clock())
        except Exception as error:  # noqa: BLE001 - one bad unit must not stop another
            self._tell_undecided(key, error)
            self._queue.failed(key, error)
            return
        if decision is None:
            self._queue.done(key)
            return
        self._tell_verdict(key, decision)
        failure = await self._executor.run(key, decision)
        if failure is None:
            self._queue.succeeded(key, after=decision.after)
        else:
            self._queue.failed(key, failure)

    def keep_only(self, keys: AbstractSet[K]) -> None:
        """Forget the verdicts on every other unit, and its failures."""
        for gone in self._verdicts.keys() - keys:
            del self._verdicts[gone]
            self._queue.forget(gone)

    def _tell_undecided(self, key: K, error: Exception) -> None:
        self._emit(
            Outcome(
                controller=self._controller.name,
                key=key,
                result=classify(error),
                effect="decide",
                text=str(error),
                error=error,
            )
        )

    def _tell_verdict(self, key: K, decision: Decision[E]) -> None:
        before, verdict = self._verdicts.pop(key, None), (decision.state, decision.reason)
        if not decision.gone:
            self._verdicts[key] = verdict
        if before == verdict or (before is None and decision.gone):
            return
        self._emit(
            Outcome(
                controller=self._controller.name,
                key=key,
                result=Result.VERDICT,
                state=decision.state,
                reason=decision.reason,
                text=decision.text,
            )
        )
