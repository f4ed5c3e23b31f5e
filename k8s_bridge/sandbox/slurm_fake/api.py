"""slurmrestd's paths: from a request to a call, and the ways in which a request fails before it is one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from k8s_bridge.sandbox.slurm_fake.call import Call
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.envelope import Envelope, plain
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.faults import Fault, FaultRule, Faults
from k8s_bridge.sandbox.slurm_fake.identity import Keyring
from k8s_bridge.sandbox.slurm_fake.render import number
from k8s_bridge.sandbox.slurm_fake.routes import find
from k8s_bridge.sandbox.slurm_fake.versions import RELEASES

_NO_PATH = "Unable find requested URL. Please view /openapi/v3 for API reference."
_LATE = frozenset({Fault.HANG, Fault.SLOW})
_EMPTY: dict[str, Any] = {"jobs": [], "last_backfill": number(0), "last_update": number(0)}


class Api:
    """Answers requests. `faults` may be replaced at any time."""

    def __init__(self, cluster: Cluster, *, keyring: Keyring) -> None:
        self.cluster = cluster
        self.faults = Faults()
        self.requests: list[str] = []
        self._keyring = keyring
        self._release = RELEASES[cluster.settings.release]

    async def handle(self, request: Request) -> Response:
        """The one entry: `/slurm/{version}/{rest}`."""
        path = request.url.path
        self.requests.append(f"{request.method} {path}")
        rule = self.faults.draw(request.method, path)
        if rule and rule.fault in _LATE:
            await asyncio.sleep(rule.seconds)
        if rule and (instead := _instead(rule)):
            return instead
        response = await self._answer(request, rule)
        return _broken() if rule and rule.fault is Fault.LOST_ANSWER else response

    async def _answer(self, request: Request, rule: FaultRule | None) -> Response:
        version = request.path_params["version"]
        if version not in self._release.full + self._release.ping_only:
            return plain(_NO_PATH, status=404)
        settings = self.cluster.settings
        envelope = Envelope(release=settings.release, version=version, cluster=settings.name)
        if "X-SLURM-USER-TOKEN" not in request.headers:
            return plain("Authentication failure", status=401)
        if request.path_params["rest"].strip("/") == "ping":
            return envelope.answer({"pings": [_ping(up=self.cluster.up)]})
        try:
            return await self._call(request, envelope=envelope, rule=rule)
        except SlurmError as error:
            return envelope.refusal(error, _EMPTY, text="Unable to query jobs", source="slurm_load_jobs()")

    async def _call(self, request: Request, *, envelope: Envelope, rule: FaultRule | None) -> Response:
        version = request.path_params["version"]
        parts = [part for part in request.path_params["rest"].split("/") if part]
        handler = find(request.method, parts) if version in self._release.full else None
        if handler is None:
            return plain(_NO_PATH, status=404)
        user = self._keyring.user(request)
        if not self.cluster.up:
            return await self._away(request, envelope)
        try:
            body = json.loads(await request.body() or b"{}")
        except ValueError:
            return plain("Unable to parse query.", status=400)
        call = Call(
            cluster=self.cluster,
            envelope=envelope,
            version=version,
            user=user,
            body=body,
            request=request,
            rule=rule,
        )
        return handler(call, parts[-1])

    async def _away(self, request: Request, envelope: Envelope) -> Response:
        await self.cluster.clock.sleep(self.cluster.settings.away_answer)
        if request.method == "GET":
            raise SlurmError(Errno.CONTROLLER_AWAY)
        text, source = "Job update requested failed", "slurm_update_job2()"
        error = SlurmError(Errno.UNEXPECTED_MESSAGE)
        return envelope.refusal(error, {"results": None}, text=text, source=source)


def _instead(rule: FaultRule) -> Response | None:
    match rule.fault:
        case Fault.STATUS | Fault.HANG:
            return plain("", status=rule.status)
        case Fault.RESET:
            return _broken()
        case Fault.NOT_JSON:
            return plain("<html>a proxy's page</html>", status=200)
    return None


def _broken() -> Response:
    # Fewer bytes than announced: the server has no other way out than to close the connection.
    return Response(b"", headers={"content-length": "1"})


def _ping(*, up: bool) -> dict[str, Any]:
    state = {"pinged": "UP" if up else "DOWN", "responding": up, "latency": 118}
    return {"hostname": "sandbox", **state, "mode": "primary", "primary": True}
