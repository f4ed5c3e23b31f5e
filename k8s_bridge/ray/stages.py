"""How long each stage of a job's life took, read off its changes of state."""

from __future__ import annotations

from collections.abc import Callable

from k8s_bridge.ray.unit import Key, State
from k8s_bridge.runtime.metrics import Stage

_ENDS: dict[State, Stage] = {
    State.QUEUED: Stage.PICKUP,
    State.ADMITTED: Stage.ADMISSION_WAIT,
    State.READY: Stage.PROVISION,
    State.RELEASED: Stage.RELEASE,
    State.RUNNING: Stage.START,
    State.DONE: Stage.TEARDOWN,
}
_STARTS: dict[State, Stage] = {
    State.HELD: Stage.PICKUP,
    State.QUEUED: Stage.ADMISSION_WAIT,
    State.ADMITTED: Stage.PROVISION,
    State.READY: Stage.RELEASE,
    State.RELEASED: Stage.START,
    State.FINISHED: Stage.TEARDOWN,
}


class Stages:
    """Remembers where each unit's present stage began; one that was not seen to begin is not measured."""

    def __init__(self, observe: Callable[[Stage, float], None]) -> None:
        self._observe = observe
        self._began: dict[Key, tuple[Stage, float]] = {}

    def entered(self, key: Key, state: State, now: float) -> None:
        """A unit entered `state` (Unix seconds)."""
        stage, began = self._began.pop(key, (None, 0.0))
        if stage is not None and stage is _ENDS.get(state):
            self._observe(stage, now - began)
        if state in _STARTS:
            self._began[key] = (_STARTS[state], now)
