"""How long each stage of a job's life took, read off its changes of state. Feeds the histograms."""

from __future__ import annotations

from collections.abc import Callable

from k8s_bridge.runtime.metrics import Stage
from k8s_bridge.slurm.unit import Key, State

_ENDS: dict[State, Stage] = {
    State.ADMITTED: Stage.ADMISSION_WAIT,
    State.READY: Stage.PROVISION,
    State.RUNNING: Stage.START,
    State.DONE: Stage.TEARDOWN,
}
_STARTS: dict[State, Stage] = {
    State.HELD: Stage.PICKUP,
    State.QUEUED: Stage.ADMISSION_WAIT,
    State.ADMITTED: Stage.PROVISION,
    State.READY: Stage.RELEASE,
    State.RELEASED: Stage.START,
    State.DRAINING: Stage.TEARDOWN,
}


def _unheard(_: float) -> None:
    """Nobody listens."""


class Stages:
    """Remembers where each unit's present stage began; a stage that was not seen to begin is not measured.

    `observe` is told of each stage that ended; `latency` of each release, how long before it the unit was
    first seen held.
    """

    def __init__(
        self, observe: Callable[[Stage, float], None], latency: Callable[[float], None] = _unheard
    ) -> None:
        self._observe = observe
        self._latency = latency
        self._began: dict[Key, tuple[Stage, float]] = {}
        self._held: dict[Key, float] = {}

    def entered(self, key: Key, state: State, now: float) -> None:
        """A unit entered `state` (Unix seconds)."""
        starts = _STARTS.get(state)
        stage, began = self._began.get(key, (None, now))
        if stage is not None and stage is starts:
            return  # it began with the effect that led here
        self._began.pop(key, None)
        if stage is not None and stage is _ENDS.get(state):
            self._observe(stage, now - began)
        if starts is not None:
            self._began[key] = (starts, now)
        if state is State.HELD:
            self._held.setdefault(key, now)

    def created(self, key: Key, now: float) -> None:
        """The unit's JobSet was created: pick-up ends, the wait for quota begins."""
        self._turned(key, ends=Stage.PICKUP, starts=Stage.ADMISSION_WAIT, now=now)

    def released(self, key: Key, now: float) -> None:
        """The unit was released onto its nodes: Slurm may start it before anybody sees it released."""
        self._turned(key, ends=Stage.RELEASE, starts=Stage.START, now=now)
        held = self._held.pop(key, None)
        if held is not None:
            self._latency(now - held)

    def forget(self, key: Key) -> None:
        """Nothing of the unit is left."""
        self._began.pop(key, None)
        self._held.pop(key, None)

    def _turned(self, key: Key, *, ends: Stage, starts: Stage, now: float) -> None:
        stage, began = self._began.pop(key, (None, now))
        if stage is ends:
            self._observe(stage, now - began)
        self._began[key] = (starts, now)
