"""An HTTP server on loopback within the running event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette

_GRACE_SECONDS = 1
_BACKLOG = 1024
_LOOPBACK = "127.0.0.1"


class _Quiet(uvicorn.Server):
    """uvicorn without its signal handlers: signals are the process's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """Accepts connections from construction on, answers them from `start` on. Port 0 is any free one."""

    def __init__(self, app: Starlette, *, address: tuple[str, int] = (_LOOPBACK, 0)) -> None:
        self._socket = _listen(address)
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._server = _Quiet(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}"

    def start(self) -> None:
        """Begin to answer."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def stop(self) -> None:
        """Stop; answers under way get a second."""
        self._server.should_exit = True
        if self._task:
            await self._task
        self._socket.close()


def _listen(address: tuple[str, int]) -> socket.socket:
    # With the protocol named asyncio turns Nagle's algorithm off; otherwise a streamed answer waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(_BACKLOG)
    return listener
