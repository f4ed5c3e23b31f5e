"""Runs the API server on a loopback port within the present event loop."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import uvicorn
from uvicorn.server import ServerState

from k8s_bridge.sandbox.apiserver.app import App
from k8s_bridge.sandbox.apiserver.custom import serve_custom_resources
from k8s_bridge.sandbox.apiserver.faults import Faults
from k8s_bridge.sandbox.apiserver.protocol import BreakableProtocol
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.policies.engine import serve_policies

_GRACE = 2.0  # seconds that requests get to end when the server stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """PEM files of the server's certificate and key."""

    certificate: Path
    key: Path


class ApiServer:
    """The embedded API server. `async with` runs it; `port` 0 takes a free one, then `url` names it."""

    def __init__(
        self,
        storage: Storage | None = None,
        *,
        port: int = 0,
        faults: Faults | None = None,
        tokens: frozenset[str] = frozenset(),
        tls: Tls | None = None,
    ) -> None:
        self.storage = storage or Storage()
        serve_custom_resources(self.storage)
        serve_policies(self.storage)
        self.app = App(self.storage, faults=faults, tokens=tokens)
        self.tokens = tokens
        self.tls = tls
        self._socket = _listening(port)
        self._config = _config(self.app, tls)
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def faults(self) -> Faults:
        """The faults in force; may be changed at any time."""
        return self.app.faults

    def end_watches(self) -> None:
        """End all open watches; new ones are served."""
        self.app.end_watches()

    def forget_history(self) -> None:
        """Compact as etcd does: earlier resourceVersions and continue tokens are answered 410 from now on."""
        for log in self.storage.logs.values():
            log.compact()
        self.app.handlers.pager.expire()

    async def start(self) -> None:
        """Accept connections."""
        self._config.load()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, sock=self._socket, ssl=self._config.ssl)

    async def stop(self) -> None:
        """End all watches, let requests come to their end, then drop what is left."""
        self.app.close()
        if self._server is not None:
            self._server.close()
        self._socket.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(tuple(self._state.tasks), timeout=_GRACE)
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the transports close

    def _protocol(self) -> BreakableProtocol:
        return BreakableProtocol(config=self._config, server_state=self._state, app_state={})

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def _listening(port: int) -> socket.socket:
    # The protocol has to be named: only then does asyncio set TCP_NODELAY on what it accepts, and an answer's
    # head and body, which are two writes, do not wait 40 ms for each other.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    return listening


def _config(app: App, tls: Tls | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BreakableProtocol,
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
