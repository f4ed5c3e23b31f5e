"""What every bridge of the process is given. Built once, passed on, never global."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from api.v1alpha1 import WorkloadMixing
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime import memory
from k8s_bridge.runtime.claims import Claims
from k8s_bridge.runtime.controller import Hook
from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.logging import Logger, OutcomeLog
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.recent import Recent
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import Settings
from k8s_bridge.runtime.status import Status
from k8s_bridge.runtime.supervisor import RunningBridge
from k8s_bridge.runtime.units import Units


class Nudges:
    """Who is to look at Slurm now, by WorkloadMixing."""

    def __init__(self) -> None:
        self._bridges: dict[str, Callable[[], None]] = {}

    def add(self, name: str, call: Callable[[], None]) -> None:
        """Call `call` when `name`, or everyone, is nudged."""
        self._bridges[name] = call

    def remove(self, name: str) -> None:
        """The bridge called `name` is gone."""
        self._bridges.pop(name, None)

    def nudge(self, name: str) -> None:
        """Nudge the bridge called `name`; "" nudges all. Unknown names are ignored."""
        for bridge, call in tuple(self._bridges.items()):
            if name in ("", bridge):
                call()


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Shared by all bridges.

    A running bridge adds itself to `health`, `units`, `nudges` and `metrics.gauges` under its
    `namespace/name`, and removes itself when it ends.
    """

    settings: Settings
    client: KubeClient
    events: EventRecorder
    log: Logger
    metrics: Metrics
    redactor: Redactor
    health: Health
    units: Units
    nudges: Nudges
    recent: Recent
    """A hook of every loop: what the status page tells of the last minutes."""
    claims: Claims
    """Who serves which partition; withdrawn by a bridge that ends for good."""
    may_write: Callable[[], bool]
    """Whether the lease is ours at this very moment."""

    def hooks(self) -> tuple[Hook[Any], ...]:
        """Who is told of each outcome of a loop."""
        return self.metrics.outcome, self.recent, OutcomeLog(self.log), memory.freeze_when_open


class BridgeFactory(Protocol):
    """Builds the bridge of one WorkloadMixing, without I/O."""

    def __call__(
        self, services: Services, mixing: WorkloadMixing, status: Status, /
    ) -> RunningBridge[WorkloadMixing]:
        """The bridge, not yet running. It reports its conditions to `status`."""
