"""Time as the sandbox sees it: one clock for timestamps and for waiting, so that a test can own it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Now, and waiting."""

    def now(self) -> datetime:
        """The present, in UTC."""

    async def sleep(self, seconds: float) -> None:
        """Return when `seconds` of this clock have passed."""


class SystemClock:
    """Wall-clock time that runs `speed` times as fast from the moment it is made."""

    def __init__(self, *, speed: float = 1.0) -> None:
        self._speed = speed
        self._start = datetime.now(UTC)
        self._monotonic = time.monotonic()

    def now(self) -> datetime:
        """The start plus the scaled time since."""
        return self._start + timedelta(seconds=(time.monotonic() - self._monotonic) * self._speed)

    async def sleep(self, seconds: float) -> None:
        """Sleep the scaled-down time."""
        await asyncio.sleep(max(seconds, 0.0) / self._speed)


class ManualClock:
    """Time that passes only when `advance` is called; sleepers wake in the order of their deadlines."""

    def __init__(self, *, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._sleepers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """The time reached so far."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` has passed the deadline; nothing to wait for returns at once."""
        if seconds <= 0:
            return
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + timedelta(seconds=seconds), future))
        await future

    def advance(self, seconds: float) -> None:
        """Let time pass and wake who is due."""
        self._now += timedelta(seconds=seconds)
        due = sorted((s for s in self._sleepers if s[0] <= self._now), key=lambda s: s[0])
        self._sleepers = [s for s in self._sleepers if s[0] > self._now]
        for _, future in due:
            if not future.done():
                future.set_result(None)


def stamp(moment: datetime) -> str:
    """A metav1.Time: RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: datetime) -> str:
    """A metav1.MicroTime: RFC 3339 in UTC with microseconds (leases, events)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_stamp(text: str) -> datetime:
    """The moment a metav1.Time or MicroTime names."""
    return datetime.fromisoformat(text)
