"""A Ray head over HTTP: its jobs API and its State API, translated into the three errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import httpx
import msgspec

from k8s_bridge.core.errors import BridgeError, Missing, Retry, Terminal
from k8s_bridge.kube.untied import untied
from k8s_bridge.ray import names

T = TypeVar("T")

_TIMEOUT = httpx.Timeout(10.0, connect=3.0)
_BODY_MAX = 32 * 2**20
_LISTED = 10_000
_SHOWN = 300
"""Bytes of an answer that an error repeats."""
_UNREADABLE = (msgspec.MsgspecError, RecursionError)
"""What a body raises that says something else, or nests without end: jobs can change their head."""
_NOT_FOUND, _UNAUTHORIZED, _FORBIDDEN, _ERROR_FROM = 404, 401, 403, 400


class Submission(msgspec.Struct, frozen=True):
    """A job as the jobs API tells it. `job_id` is Ray's own, None before the driver is up."""

    submission_id: str | None = None
    job_id: str | None = None
    status: str = ""
    message: str | None = None
    driver_node_id: str | None = None

    @property
    def over(self) -> bool:
        """It will never run again."""
        return self.status in {"SUCCEEDED", "FAILED", "STOPPED"}


class RayNode(msgspec.Struct, frozen=True):
    """A Ray node as the State API tells it."""

    node_id: str = ""
    state: str = ""
    labels: dict[str, str] | None = None
    resources_total: dict[str, float] | None = None

    @property
    def alive(self) -> bool:
        """It is part of the cluster."""
        return self.state == "ALIVE"

    @property
    def token(self) -> str:
        """The job that it is for; "" when it is nobody's."""
        return (self.labels or {}).get(names.NODE_LABEL, "")


class Placed(msgspec.Struct, frozen=True):
    """A task or an actor, where it runs, and whose it is."""

    job_id: str = ""
    node_id: str | None = None
    state: str = ""
    name: str | None = None
    type: str = ""

    @property
    def of_actor(self) -> bool:
        """A task that an actor does: it is where the actor is."""
        return self.type in {"ACTOR_TASK", "ACTOR_CREATION_TASK"}


class _Result(msgspec.Struct, frozen=True):
    result: list[msgspec.Raw]


class _Data(msgspec.Struct, frozen=True):
    result: _Result


class _Answer(msgspec.Struct, frozen=True):
    data: _Data


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a head's dashboard is, with the token of the cluster if it wants one."""

    url: str
    token: str = ""


class RayHead:
    """A client of all heads. Close it with `aclose`."""

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=16, keepalive_expiry=5.0)
        self._client = httpx.AsyncClient(
            timeout=_TIMEOUT, limits=limits, trust_env=False, follow_redirects=False
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def submission(self, head: Address, submission_id: str) -> Submission:
        """One job. Missing when Ray does not know it."""
        return _decoded(await self._call(head, "GET", f"/api/jobs/{submission_id}"), Submission)

    async def submissions(self, head: Address) -> list[Submission]:
        """All jobs that Ray remembers."""
        return _decoded(await self._call(head, "GET", "/api/jobs/"), list[Submission])

    async def stop(self, head: Address, submission_id: str) -> None:
        """Ask for a job's end; of one that waits, it comes when it would start. Missing: Ray knows none."""
        await self._call(head, "POST", f"/api/jobs/{submission_id}/stop")

    async def nodes(self, head: Address) -> list[RayNode]:
        """All nodes, alive or dead."""
        return await self._state(head, "nodes", RayNode)

    async def running_tasks(self, head: Address) -> list[Placed]:
        """Tasks that run now."""
        return await self._state(head, "tasks", Placed, state="RUNNING")

    async def living_actors(self, head: Address) -> list[Placed]:
        """Actors that are alive."""
        return await self._state(head, "actors", Placed, state="ALIVE")

    async def _state(self, head: Address, kind: str, view: type[T], *, state: str = "") -> list[T]:
        """A listing of the State API; items that cannot be read are left out."""
        query = {"limit": str(_LISTED), "detail": "true"}
        if state:
            query |= {"filter_keys": "state", "filter_predicates": "=", "filter_values": state}
        body = await self._call(head, "GET", f"/api/v0/{kind}", query)
        answer = _decoded(body, _Answer)
        found = []
        for raw in answer.data.result.result:
            try:
                found.append(msgspec.json.decode(raw, type=view))
            except _UNREADABLE:
                continue
        return found

    async def _call(
        self, head: Address, method: str, path: str, query: dict[str, str] | None = None
    ) -> bytes:
        headers = {"Authorization": f"Bearer {head.token}"} if head.token else {}
        what = f"{method} {path} of the Ray head at {head.url}"
        opening = self._client.stream(method, head.url + path, params=query, headers=headers)
        try:
            async with untied(opening) as answer:
                status, body = answer.status_code, await _read(what, answer)
        except httpx.HTTPError as error:
            raise Retry(f"{what}: {type(error).__name__} {error}".rstrip()) from error
        if status >= _ERROR_FROM:
            raise _error(what, status, body)
        return body


async def _read(what: str, answer: httpx.Response) -> bytes:
    chunks, size = list[bytes](), 0
    async for chunk in answer.aiter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        if size > _BODY_MAX:
            raise Terminal(f"{what}: more than {_BODY_MAX} bytes", reason="BodyTooLarge")
    return b"".join(chunks)


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except _UNREADABLE as error:
        raise Retry(f"an answer of the Ray head cannot be read: {error}") from error


def _error(what: str, status: int, body: bytes) -> BridgeError:
    text = f"{what}: {status} {body[:_SHOWN].decode(errors='replace')}"
    if status == _NOT_FOUND:
        return Missing(text)
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return Terminal(text, reason="RayTokenRefused")
    return Retry(text)
