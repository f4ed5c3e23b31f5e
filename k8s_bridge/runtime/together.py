"""Runs the parts of a bridge beside each other, and ends them in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

Running = set[asyncio.Task[None]]


async def run_together(
    parts: Mapping[str, Coroutine[Any, Any, None]],
    *,
    stopping: asyncio.Event,
    end: Callable[[Running], Awaitable[None]],
) -> None:
    """Until `stopping`, or until a part ends; `end` stops those that run. Raises what a part raised."""
    running = {asyncio.create_task(part, name=name) for name, part in parts.items()}
    stop = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({*running, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        await end(running)
    for task in running:
        task.result()
