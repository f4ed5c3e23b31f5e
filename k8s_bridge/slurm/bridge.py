"""The bridge of one WorkloadMixing: sessions, one after the other, each for one way to reach Slurm.

A change of policy is taken over by the running session; a change of connection ends it and begins another.
"""

from __future__ import annotations

import asyncio
from typing import Any

from api.v1alpha1 import ConditionType, WorkloadMixing
from api.v1alpha1.slurm import SlurmConnection
from k8s_bridge.core.conditions import Finding
from k8s_bridge.runtime.services import Services
from k8s_bridge.runtime.status import Status
from k8s_bridge.slurm.session import Session

NO_SLURM = Finding(
    type=ConditionType.READY,
    status="True",
    reason="NoSlurm",
    message="no Slurm cluster is named: there is nothing to do here for Slurm jobs",
)
_CONNECTION = (*SlurmConnection.model_fields, "create_workers")


class SlurmBridge:
    """Implements runtime.supervisor.RunningBridge."""

    def __init__(self, services: Services, mixing: WorkloadMixing, status: Status) -> None:
        self._services = services
        self._mixing = mixing
        self._status = status
        self._session: Session | None = None
        self._changed = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Work until `stop`."""
        while not self._stopping:
            self._changed.clear()
            if not self._mixing.spec.has_slurm:
                self._status.report((NO_SLURM,), {})
                await self._changed.wait()
                continue
            self._session = Session(self._services, self._mixing, self._status)
            try:
                await self._session.run()
            finally:
                self._session = None

    def stop(self) -> None:
        """Begin a graceful end."""
        self._stopping = True
        self._changed.set()
        if self._session is not None:
            self._session.stop()

    def reload(self, mixing: WorkloadMixing) -> None:
        """Go on with another spec."""
        before, self._mixing = self._mixing, mixing
        self._changed.set()
        if self._session is None:
            return
        if _connection(before) == _connection(mixing):
            self._session.reconfigure(mixing)
        else:
            self._session.stop()


def create(services: Services, mixing: WorkloadMixing, status: Status, /) -> SlurmBridge:
    """The factory that `run` is given."""
    return SlurmBridge(services, mixing, status)


def _connection(mixing: WorkloadMixing) -> dict[str, Any]:
    return {name: getattr(mixing.spec, name) for name in _CONNECTION}


__all__ = ["SlurmBridge", "create"]
