"""The border between the loop and what it drives: Controller in, Outcome out. Types only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from k8s_bridge.core.decision import Decision

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")


class Result(StrEnum):
    """What became of one step of the loop; the value is the metrics label."""

    VERDICT = "verdict"
    """No effect: the unit's state or reason is another one than at its last pass."""
    GATE = "gate"
    """No unit: the loop opened (`state` "open") or closed (`state` "blocked", `text` says why)."""
    DONE = "done"
    """The effect was carried out."""
    STALE = "stale"
    """Not carried out: the fact it rests on no longer holds."""
    FENCED = "fenced"
    """Not carried out: no lease, or the loop is stopping."""
    RETRY = "retry"
    CONFLICT = "conflict"
    TERMINAL = "terminal"
    BUG = "bug"
    """Something other than the three kinds of error was raised: our fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[K]):
    """One thing that happened. Logs, metrics and events hang on this and on nothing else.

    `key` is None for Result.GATE. `effect` is the class name of the effect, "decide" for an exception in
    decide, "" where there is none. `reason` is one CamelCase word. `seconds` is how long the step took.
    """

    controller: str
    key: K | None
    result: Result
    state: str = ""
    effect: str = ""
    reason: str = ""
    text: str = ""
    seconds: float = 0.0
    error: Exception | None = field(default=None, compare=False)

    @property
    def failed(self) -> bool:
        """Something did not succeed that should have."""
        return self.error is not None


Hook = Callable[[Outcome[K]], None]


class Controller(Protocol[K, E]):
    """What a bridge gives to the loop. Only `act` may wait; nothing but `act` may write."""

    @property
    def name(self) -> str:
        """`namespace/name` of the WorkloadMixing, for logs and metrics."""

    def blocked(self) -> str:
        """Why nothing may be decided now; "" when every source is synced and fresh. Must be cheap."""

    def keys(self) -> Iterable[K]:
        """All units that exist in any source (for a resync)."""

    def decide(self, key: K, now: float) -> Decision[E] | None:
        """The verdict on one unit at `now` (Unix seconds); None: not yet, a change will bring it back."""

    def current(self, key: K, effect: E) -> bool:
        """Whether the fact that `effect` rests on still holds, asked immediately before the write."""

    async def act(self, key: K, effect: E) -> None:
        """Carry out one effect. Raises Retry, Conflict or Terminal of core.errors."""

    def observe_outcome(self, outcome: Outcome[K]) -> None:
        """Told of each outcome before any hook is."""
