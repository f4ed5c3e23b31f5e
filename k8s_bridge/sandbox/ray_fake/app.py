"""The head's HTTP face on the dashboard's port: the jobs API and the State API of Ray 2.60."""

from __future__ import annotations

import json
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, DispatchFunction, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.ray_fake import messages, render, state_api
from k8s_bridge.sandbox.ray_fake.head import RayHead
from k8s_bridge.sandbox.ray_fake.model import RayJob

VERSION: Json = {
    "version": "4",
    "ray_version": "2.60.0",
    "ray_commit": "sandbox",
    "session_name": "session_sandbox",
}
Handler = Callable[[Request], Awaitable[Response]]
OfJob = Callable[[RayJob], Response]
_JOB = "/api/jobs/{job}"


def app(head: RayHead) -> Starlette:
    """Everything a head answers."""
    jobs = _Jobs(head)
    return Starlette(
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=_doorman(head))],
        routes=[
            Route("/api/version", jobs.version),
            Route("/api/gcs_healthz", jobs.health),
            Route("/api/jobs/", jobs.submit, methods=["POST"]),
            Route("/api/jobs/", jobs.listing),
            Route(f"{_JOB}/stop", jobs.on(jobs.stop), methods=["POST"]),
            Route(f"{_JOB}/logs", jobs.on(jobs.logs)),
            Route(_JOB, jobs.on(jobs.delete), methods=["DELETE"]),
            Route(_JOB, jobs.on(jobs.details)),
            *(Route(f"/api/v0/{what}", _rows(head, rows)) for what, rows in state_api.TABLES.items()),
        ],
    )


def _doorman(head: RayHead) -> DispatchFunction:
    async def ask(request: Request, go: RequestResponseEndpoint) -> Response:
        shown = request.headers.get("Authorization", "")
        if head.token and not shown:
            return _text("Unauthorized: Missing authentication token", 401)
        if head.token and shown != f"Bearer {head.token}":
            return _text("Forbidden: Invalid authentication token", 403)
        return await go(request)

    return ask


class _Jobs:
    def __init__(self, head: RayHead) -> None:
        self._head = head

    def on(self, handler: OfJob) -> Handler:
        """The handler of a path about one job, by its submission id or its driver's id."""

        async def handle(request: Request) -> Response:
            name = request.path_params["job"]
            jobs = self._head.jobs
            job = jobs.get(name) or next((j for j in jobs.values() if j.driver == name), None)
            return handler(job) if job else _text(messages.unknown(name), 404)

        return handle

    async def version(self, request: Request) -> Response:
        del request
        return JSONResponse(VERSION)

    async def health(self, request: Request) -> Response:
        del request
        return PlainTextResponse("success")

    async def submit(self, request: Request) -> Response:
        try:
            body = _checked(json.loads(await request.body() or b"{}"))
        except (TypeError, ValueError):
            return _text(traceback.format_exc(), 400)
        try:
            name = self._head.submit(body)
        except ValueError:  # the head asks its own agent, and takes its 400 for trouble
            return _text(traceback.format_exc(), 500)
        return JSONResponse({"job_id": name, "submission_id": name})

    async def listing(self, request: Request) -> Response:
        del request
        return JSONResponse([render.details(job) for job in self._head.jobs.values()])

    def details(self, job: RayJob) -> Response:
        return JSONResponse(render.details(job))

    def stop(self, job: RayJob) -> Response:
        return JSONResponse({"stopped": self._head.stop(job.submission_id)})

    def logs(self, job: RayJob) -> Response:
        if job.node and job.node.silent.is_set():
            return _text("Traceback (most recent call last):\nCannot connect to host", 500)
        return JSONResponse({"logs": job.log})

    def delete(self, job: RayJob) -> Response:
        try:
            self._head.delete(job.submission_id)
        except RuntimeError:
            return _text(traceback.format_exc(), 500)
        return JSONResponse({"deleted": True})


def _checked(body: Any) -> Json:
    if not isinstance(body, dict) or "entrypoint" not in body:
        raise TypeError("JobSubmitRequest.__init__() missing 1 required positional argument: 'entrypoint'")
    for field, wanted in (
        ("entrypoint", str),
        ("submission_id", str),
        ("runtime_env", dict),
        ("metadata", dict),
    ):
        value = body.get(field)
        if value is not None and not isinstance(value, wanted):
            raise TypeError(f"{field} must be a {wanted.__name__}, got {type(value)}")
    return body


def _rows(head: RayHead, rows: state_api.Rows) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            result = state_api.listing(rows(head), request.query_params)
        except ValueError as error:
            return JSONResponse(
                {"result": False, "msg": str(error), "data": {"result": None}}, status_code=400
            )
        return JSONResponse({"result": True, "msg": "", "data": {"result": result}})

    return handle


def _text(text: str, code: int) -> Response:
    return PlainTextResponse(text, status_code=code)
