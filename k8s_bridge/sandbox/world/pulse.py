"""Waiting on facts: a condition is looked at again whenever anything in the world has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Unmet(TimeoutError):
    """What was waited for did not come true; the text says what it was and how the world looked."""


class Pulse:
    """Beats at every change."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def beat(self) -> None:
        """Something has changed: have everybody look again."""
        for event in self._waiting:
            event.set()

    async def until(
        self,
        condition: Callable[[], T | None],
        *,
        seconds: float,
        what: str,
        describe: Callable[[], str] = str,
    ) -> T:
        """The first truthy answer of `condition`; after `seconds` Unmet, with `what` and `describe()`."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(seconds):
                while not (found := condition()):
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            raise Unmet(f"not within {seconds:g} s: {what}\n{describe()}") from None
        finally:
            self._waiting.discard(changed)
        return found
