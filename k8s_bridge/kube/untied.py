"""Answers of the HTTP library that leave memory when they have been read.

The library ties a response to its stream and the stream to the response, so that each call would lie about,
with all that is reachable from it, until the garbage collector comes by: tens of megabytes of a busy bridge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx

_SPENT = httpx.ByteStream(b"")


@asynccontextmanager
async def untied(
    opening: AbstractAsyncContextManager[httpx.Response],
) -> AsyncIterator[httpx.Response]:
    """The response of `client.stream(…)`; at the end of the block it is closed and free."""
    async with opening as response:
        try:
            yield response
        finally:
            await response.aclose()
            response.stream = _SPENT
