"""One session with one Slurm: connect, work, end in order. A change of connection begins another."""

from __future__ import annotations

import asyncio

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.core.errors import BridgeError
from k8s_bridge.runtime.services import Services
from k8s_bridge.runtime.status import Status
from k8s_bridge.slurm.client import SlurmClient
from k8s_bridge.slurm.credentials import Credentials
from k8s_bridge.slurm.parts import Parts
from k8s_bridge.slurm.slurm_health import HealthWatch

_RETRY_SECONDS = 5.0


class Session:
    """Made without I/O; `run` ends after `stop`."""

    def __init__(self, services: Services, mixing: WorkloadMixing, status: Status) -> None:
        self._services = services
        self._mixing = mixing
        self._status = status
        self._name = f"{mixing.metadata.namespace}/{mixing.metadata.name}"
        self._stopping = asyncio.Event()
        self._parts: Parts | None = None

    def stop(self) -> None:
        """Begin a graceful end."""
        self._stopping.set()

    def reconfigure(self, mixing: WorkloadMixing) -> None:
        """Go on with another policy; the connection is the same."""
        self._mixing = mixing
        if self._parts is not None:
            self._parts.configure(mixing)

    async def run(self) -> None:
        """Connect, work, and end in order: effects first, then what feeds them, then connections."""
        services = self._services
        credentials = Credentials(self._mixing, kube=services.client, redactor=services.redactor)
        try:
            client = await self._connect(credentials)
            if client is not None:
                self._parts = Parts(services, self._mixing, self._status, client, credentials)
                await self._parts.run(self._stopping)
        finally:
            self._parts = None
            credentials.close()

    async def _connect(self, credentials: Credentials) -> SlurmClient | None:
        """A client, as soon as the certificates that the spec names are there; None when stopped before."""
        while not self._stopping.is_set():
            try:
                endpoint = await credentials.endpoint()
                return SlurmClient(
                    endpoint,
                    token=credentials.token(),
                    on_call=self._count,
                    may_write=self._services.may_write,
                )
            except BridgeError as error:
                self._status.report(HealthWatch.unreachable(error), {})
                self._services.log.warning("slurm_not_connected", workloadmixing=self._name, why=str(error))
                await _pause(self._stopping, seconds=_RETRY_SECONDS)
        return None

    def _count(self, method: str, _path: str, code: int, seconds: float, size: int) -> None:
        self._services.metrics.slurm_call(self._name, method=method, code=code, seconds=seconds, size=size)


async def _pause(stopping: asyncio.Event, *, seconds: float) -> None:
    timer = asyncio.get_running_loop().create_future()
    handle = asyncio.get_running_loop().call_later(seconds, timer.set_result, None)
    waiting = asyncio.ensure_future(stopping.wait())
    await asyncio.wait({timer, waiting}, return_when=asyncio.FIRST_COMPLETED)
    handle.cancel()
    waiting.cancel()
