"""How long to wait before trying again: doubling, bounded, with jitter."""

from __future__ import annotations

from collections.abc import Callable

FIRST = 0.2
MAX = 5.0


class Backoff:
    """Delays of 0.2 s doubling up to 5 s, each cut by up to half at random. `rand` gives [0, 1)."""

    def __init__(self, *, rand: Callable[[], float]) -> None:
        self._rand = rand
        self._delay = FIRST

    def reset(self) -> None:
        """It worked: the next delay is the first again."""
        self._delay = FIRST

    def next(self, *, at_least: float | None = None) -> float:
        """The delay before the next attempt, in seconds; never below `at_least` (the server's own wish)."""
        delay = self._delay * (1 - self._rand() / 2)
        self._delay = min(self._delay * 2, MAX)
        return max(delay, at_least or 0.0)
