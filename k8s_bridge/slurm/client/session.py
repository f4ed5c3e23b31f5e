"""One conversation with a slurmrestd: which API version it speaks, and what its answers amount to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from k8s_bridge.core.errors import BridgeError, Terminal
from k8s_bridge.slurm.client import errors
from k8s_bridge.slurm.client.config import SlurmEndpoint
from k8s_bridge.slurm.client.gate import Urgency
from k8s_bridge.slurm.client.http import Call, Http, MayWrite, OnCall, always
from k8s_bridge.slurm.client.items import Small
from k8s_bridge.slurm.client.ping import ping_of
from k8s_bridge.slurm.client.token import TokenSource
from k8s_bridge.slurm.client.versions import BY_NAME, PREFERRED, Api
from k8s_bridge.slurm.client.wire import Envelope, envelope_of
from k8s_bridge.slurm.model import Ping

NOT_MODIFIED = 304
_OK = 200
_NOT_FOUND = 404
_PING = Call(method="GET", path="ping", template="ping", urgency=Urgency.READ)


class Reader(Protocol):
    """Takes the body of a 200 as it comes, and at its end gives the frame."""

    def feed(self, chunk: bytes) -> None:
        """The next piece."""
        ...

    def finish(self) -> Envelope:
        """The frame, after the last piece."""
        ...


R = TypeVar("R", bound=Reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[R]):
    """An answer and its frame, None when it is not in slurmrestd's form. `reader` was fed if it was a 200."""

    call: Call
    api: Api
    status: int
    envelope: Envelope | None
    reader: R

    @property
    def codes(self) -> tuple[int, ...]:
        """Slurm's error numbers in it."""
        return tuple(code for code, _ in self.envelope.codes()) if self.envelope else ()


class Session:
    """Sends calls in the negotiated version and says what their answers amount to."""

    def __init__(
        self,
        endpoint: SlurmEndpoint,
        *,
        token: TokenSource,
        on_call: OnCall,
        may_write: MayWrite = always,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.endpoint = endpoint
        self.token = token
        self._http = Http(endpoint, token=token, on_call=on_call, may_write=may_write)
        self._now = now
        self._api: Api | None = None
        self._negotiating = asyncio.Lock()

    async def api(self) -> Api:
        """The version in use; negotiated at the first question and again when it is no longer served."""
        async with self._negotiating:
            if self._api is None:
                self._api = (await self._negotiate()).api
            return self._api

    async def ping(self) -> Ping:
        """Who answers. Retry when slurmctld does not."""
        async with self._negotiating:
            reply = await self._negotiate()
            self._api = reply.api
        return ping_of(reply.envelope, body=reply.reader.body, version=reply.api.name)

    async def send(self, build: Callable[[Api], Call], reader: Callable[[Api], R]) -> Reply[R]:
        """The answer to a call. A version that vanished (slurmrestd was replaced) is negotiated anew."""
        reply = await self._send(build, reader, await self.api())
        if reply.status == _NOT_FOUND and reply.envelope is None:
            self._api = None
            reply = await self._send(build, reader, await self.api())
        return reply

    async def ask(self, build: Callable[[Api], Call]) -> Reply[Small]:
        """The answer to a call whose answer is small."""
        return await self.send(build, lambda _: Small(self.endpoint.max_object))

    def checked(self, reply: Reply[R]) -> Envelope:
        """The frame of a success; raises whatever else the answer amounts to."""
        error = errors.error_of(str(reply.call), status=reply.status, envelope=reply.envelope)
        if error is not None:
            try:
                raise self._dated(error, reply)
            finally:
                del error  # else it refers to itself by way of its traceback, and keeps the answer
        assert reply.envelope is not None
        return reply.envelope

    async def close(self) -> None:
        """Let requests under way end, then close."""
        await self._http.close()

    async def _negotiate(self) -> Reply[Small]:
        for api in self._candidates():
            reply = await self._send(lambda _: _PING, lambda _: Small(self.endpoint.max_object), api)
            if reply.status != _NOT_FOUND:
                self.checked(reply)
                return reply
        raise Terminal(
            f"slurmrestd at {self.endpoint.base_url} serves none of the API versions that are spoken here",
            reason="NoCommonVersion",
        )

    async def _send(self, build: Callable[[Api], Call], reader: Callable[[Api], R], api: Api) -> Reply[R]:
        call = build(api)
        sink, answer = await self._http.send(call, version=api.name, sink=lambda: reader(api))
        envelope = sink.finish() if answer.status == _OK else envelope_of(answer.body)
        return Reply(call=call, api=api, status=answer.status, envelope=envelope, reader=sink)

    def _candidates(self) -> tuple[Api, ...]:
        wanted = self.endpoint.api_version
        if not wanted:
            return PREFERRED if self._api is None else (self._api, *PREFERRED)
        if wanted not in BY_NAME:
            raise Terminal(f"the Slurm API version {wanted} is not known", reason="ApiVersionUnknown")
        return (BY_NAME[wanted],)

    def _dated(self, error: BridgeError, reply: Reply[R]) -> BridgeError:
        """v0.0.38 gives a bad token no number; that ours has expired we can see for ourselves."""
        end = self.token.expires_at if errors.UNSPECIFIED in reply.codes else None
        if end is None or end > self._now():
            return error
        return Terminal(f"{error} (the token has expired)", reason="TokenInvalid")
