"""What the webhook serves: two paths for the API server, two for probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from k8s_bridge.ray.admission.answers import changed, judged
from k8s_bridge.ray.admission.configurations import CHANGE, JUDGE

Json = Mapping[str, Any]
Mixings = Callable[[str], Iterable[Json]]
"""The WorkloadMixings of a namespace."""


def application(*, mixings: Mixings, unready: Callable[[], str]) -> Starlette:
    """`unready` is why no request can be answered yet; "" when it can."""

    async def ready(_request: Request) -> Response:
        why = unready()
        return PlainTextResponse(why or "ok", status_code=503 if why else 200)

    async def alive(_request: Request) -> Response:
        return PlainTextResponse("ok")

    def reviewed(answer: Callable[[Json, Iterable[Json]], Json]) -> Callable[[Request], Any]:
        async def handle(request: Request) -> Response:
            if why := unready():
                return PlainTextResponse(why, status_code=503)
            asked = msgspec.json.decode(await request.body())["request"]
            response = answer(asked, mixings(asked.get("namespace", "")))
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            return Response(msgspec.json.encode(review), media_type="application/json")

        return handle

    return Starlette(
        routes=[
            Route("/healthz", alive),
            Route("/readyz", ready),
            Route(CHANGE, reviewed(changed), methods=["POST"]),
            Route(JUDGE, reviewed(judged), methods=["POST"]),
        ]
    )
