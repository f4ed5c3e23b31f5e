"""The process's own HTTP server: probes, metrics, nudges, the status page, and what `top` and `explain` read.

Units name jobs and people, so /debug and the page are told to whom `access` lets in.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from k8s_bridge.runtime.access import NEAR, Access
from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.pages.routes import Pages, Shown
from k8s_bridge.runtime.product import SLURM, Product
from k8s_bridge.runtime.recent import Recent
from k8s_bridge.runtime.settings import Bind, SettingsError
from k8s_bridge.runtime.turn import ALONE, Turn
from k8s_bridge.runtime.units import Units

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_FAREWELL_SECONDS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What is behind the paths. `nudge` is given a WorkloadMixing's name, or "" for all; it must be quick."""

    health: Health
    metrics: Metrics
    units: Units
    nudge: Callable[[str], None]
    turn: Callable[[], Turn] = lambda: ALONE
    recent: Recent = field(default_factory=lambda: Recent(time.time))
    access: Access = NEAR
    product: Product = SLURM
    clock: Callable[[], float] = time.time

    @property
    def shown(self) -> Shown:
        """What the status page is made of."""
        return Shown(
            gauges=self.metrics.gauges,
            units=self.units,
            recent=self.recent,
            turn=self.turn,
            access=self.access,
            product=self.product,
            clock=self.clock,
        )


def application(endpoints: Endpoints) -> Starlette:
    """The ASGI application."""
    handlers = _Handlers(endpoints)
    return Starlette(
        routes=[
            Route("/healthz", handlers.healthz),
            Route("/readyz", handlers.readyz),
            Route("/leader", handlers.leader),
            Route("/metrics", handlers.metrics),
            Route("/nudge", handlers.nudge, methods=["POST"]),
            Route("/debug/units", handlers.units),
            Route("/debug/units/{name:path}", handlers.unit),
            *Pages(endpoints.shown).routes(),
        ]
    )


class _Handlers:
    def __init__(self, endpoints: Endpoints) -> None:
        self._at = endpoints

    async def healthz(self, _request: Request) -> Response:
        wrong = self._at.health.wrong()
        return PlainTextResponse("\n".join(wrong) or "ok", status_code=503 if wrong else 200)

    async def readyz(self, _request: Request) -> Response:
        unready = self._at.health.unready
        return PlainTextResponse(unready or "ok", status_code=503 if unready else 200)

    async def leader(self, _request: Request) -> Response:
        return _json(self._at.turn())

    async def metrics(self, _request: Request) -> Response:
        return Response(self._at.metrics.text(), headers={"Content-Type": METRICS_TYPE})

    async def nudge(self, request: Request) -> Response:
        self._at.nudge(request.query_params.get("workloadmixing", ""))
        return Response(status_code=202)

    async def units(self, request: Request) -> Response:
        return self._at.access.refusal(request) or _json(await self._at.units.rows())

    async def unit(self, request: Request) -> Response:
        refused = self._at.access.refusal(request)
        if refused is not None:
            return refused
        details = self._at.units.details(request.path_params["name"])
        return _json(details, status=200 if details else 404)


def _json(value: object, *, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


class _Quiet(uvicorn.Server):
    """uvicorn without its signal handlers: signals are the command's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """Serves an application in the running event loop. The socket is bound at construction.

    SettingsError when the address cannot be had. With `tls` it speaks HTTPS.
    """

    def __init__(self, app: Starlette, bind: Bind, *, tls: ssl.SSLContext | None = None) -> None:
        self._socket = _listen(bind)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=_FAREWELL_SECONDS,
            server_header=False,
        )
        config.load()
        config.ssl = tls
        self._server = _Quiet(config)

    @property
    def address(self) -> Bind:
        """Where it really listens."""
        host, port = self._socket.getsockname()[:2]
        return Bind(host=host, port=port)

    async def run(self) -> None:
        """Serve until `stop`."""
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Begin to end: no new connections, answers under way get a second."""
        self._server.should_exit = True


def _listen(bind: Bind) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            bind.host, bind.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise SettingsError("--http", f"cannot use {bind.host}:{bind.port}: {error}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise SettingsError(
            "--http", f"cannot listen on {bind.host}:{bind.port}: {error.strerror}; choose another port"
        ) from error
    return listener
