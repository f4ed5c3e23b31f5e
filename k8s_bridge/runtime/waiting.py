"""Waiting for an event for a limited time, without a task to cancel."""

from __future__ import annotations

import asyncio


async def wait(event: asyncio.Event, *, seconds: float) -> None:
    """Until `event` is set, at most `seconds`; it is clear afterwards."""
    timer = asyncio.get_running_loop().call_later(seconds, event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()
    event.clear()
