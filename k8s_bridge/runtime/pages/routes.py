"""The page's paths: HTML for people, the same as JSON for whoever asks for that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from k8s_bridge.runtime.access import Access
from k8s_bridge.runtime.gauges import Gauges
from k8s_bridge.runtime.overview import Overview, overview
from k8s_bridge.runtime.pages import render
from k8s_bridge.runtime.product import Product
from k8s_bridge.runtime.recent import Recent
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import Units

FRESH_SECONDS = 2.0
"""Readers share what was put together this long ago: of 20,000 units that takes a second of a CPU."""
_VERSION = version("k8s-bridge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the page is made of. `clock` gives Unix seconds."""

    gauges: Gauges
    units: Units
    recent: Recent
    turn: Callable[[], Turn]
    access: Access
    product: Product
    clock: Callable[[], float]


class Pages:
    """Answers for `/` and `/units/NAME`."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._last: Overview | None = None
        self._turn = asyncio.Lock()

    def routes(self) -> Sequence[Route]:
        """Where they are."""
        return Route("/", self.status), Route("/units/{name:path}", self.unit)

    async def status(self, request: Request) -> Response:
        """Everything at a glance."""
        refusal = self._shown.access.refusal(request)
        if refusal is not None:
            return refusal
        found = await self._overview()
        if _wants_json(request):
            return _json(found)
        return _html(render.status(found, query=request.query_params.get("q", "").strip()))

    async def unit(self, request: Request) -> Response:
        """One unit in full."""
        refusal = self._shown.access.refusal(request)
        if refusal is not None:
            return refusal
        name = request.path_params["name"]
        details = self._shown.units.details(name)
        code = 200 if details else 404
        if _wants_json(request):
            return _json(details, code=code)
        shown = self._shown
        page = render.unit(
            name,
            details,
            product=shown.product.name,
            now=shown.clock(),
            version=_VERSION,
            turn=shown.turn(),
        )
        return _html(page, code=code)

    async def _overview(self) -> Overview:
        """One reader puts it together, the others wait for that."""
        async with self._turn:
            now = self._shown.clock()
            if self._last is None or not 0 <= now - self._last.now < FRESH_SECONDS:
                self._last = await self._now()
            return self._last

    async def _now(self) -> Overview:
        shown = self._shown
        units = await shown.units.rows()
        return overview(
            product=shown.product,
            now=shown.clock(),
            version=_VERSION,
            turn=shown.turn(),
            readings=shown.gauges.readings(),
            findings=shown.gauges.findings(),
            units=units,
            changes=shown.recent.newest(),
        )


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def _json(value: object, *, code: int = 200) -> Response:
    body = msgspec.json.encode(value)
    headers = {"Cache-Control": "no-store"}
    return Response(body, status_code=code, media_type="application/json", headers=headers)


def _html(page: str, *, code: int = 200) -> Response:
    return HTMLResponse(page, status_code=code, headers=render.HEADERS)
