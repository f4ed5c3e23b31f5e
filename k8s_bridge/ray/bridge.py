"""The Ray bridge of one WorkloadMixing: it works while the spec has a `ray` section."""

from __future__ import annotations

import asyncio

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.ray.parts import Parts
from k8s_bridge.runtime.services import Services
from k8s_bridge.runtime.status import Status


class RayBridge:
    """Implements runtime.supervisor.RunningBridge."""

    def __init__(self, services: Services, mixing: WorkloadMixing, status: Status) -> None:
        self._services = services
        self._mixing = mixing
        self._status = status
        self._parts: Parts | None = None
        self._changed = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Work until `stop`."""
        while not self._stopping:
            self._changed.clear()
            if self._mixing.spec.ray is None:
                await self._changed.wait()
                continue
            self._parts = Parts(self._services, self._mixing, self._status)
            try:
                await self._parts.run()
            finally:
                self._parts = None

    def stop(self) -> None:
        """Begin a graceful end."""
        self._stopping = True
        self._changed.set()
        if self._parts is not None:
            self._parts.stop()

    def reload(self, mixing: WorkloadMixing) -> None:
        """Go on with another spec."""
        self._mixing = mixing
        self._changed.set()
        if self._parts is None:
            return
        if mixing.spec.ray is None:
            self._parts.stop()
        else:
            self._parts.configure(mixing)


def create(services: Services, mixing: WorkloadMixing, status: Status, /) -> RayBridge:
    """The factory that `run` is given."""
    return RayBridge(services, mixing, status)
