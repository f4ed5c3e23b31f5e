"""How long a unit rests after a failure. Pure: randomness is an argument; counts are the only state."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from k8s_bridge.core.errors import Conflict, Retry, Terminal

K = TypeVar("K", bound=Hashable)

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 60.0
FREE_CONFLICTS = 5
_DOUBLINGS = 30  # beyond this the power only grows, the delay does not


def exponential(
    failures: int,
    random: Callable[[], float],
    *,
    first: float = FIRST_SECONDS,
    longest: float = LONGEST_SECONDS,
) -> float:
    """Seconds after the `failures`-th failure in a row (1 is the first): doubled, ±25 % jitter, bounded.

    `random` gives a number in [0, 1).
    """
    seconds = first * 2.0 ** min(failures - 1, _DOUBLINGS)
    return min(longest, seconds * (0.75 + 0.5 * random()))


class Backoff(Generic[K]):
    """Failures in a row by key; a success forgets them."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._failures: dict[K, int] = {}
        self._conflicts: dict[K, int] = {}

    def delay(self, key: K, error: Exception) -> float:
        """Seconds until `key` may be tried again by itself."""
        if isinstance(error, Conflict):
            return self._conflict(key)
        self._conflicts.pop(key, None)
        if isinstance(error, Terminal):
            return LONGEST_SECONDS
        seconds = self._next(key)
        if isinstance(error, Retry) and error.after is not None:
            return max(error.after, seconds)
        return seconds

    def reset(self, key: K) -> None:
        """`key` succeeded."""
        self._failures.pop(key, None)
        self._conflicts.pop(key, None)

    def _conflict(self, key: K) -> float:
        count = self._conflicts[key] = self._conflicts.get(key, 0) + 1
        return 0.0 if count <= FREE_CONFLICTS else self._next(key)

    def _next(self, key: K) -> float:
        count = self._failures[key] = self._failures.get(key, 0) + 1
        return exponential(count, self._random)
