"""Pods and what became of their containers."""

from __future__ import annotations

import msgspec

from api.views.base import Condition, Object, View


class ContainerStateWaiting(View, frozen=True):
    """containerStatuses[].state.waiting."""

    reason: str = ""
    message: str = ""


class ContainerStateTerminated(View, frozen=True):
    """containerStatuses[].state.terminated."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(View, frozen=True):
    """containerStatuses[].state: at most one of the fields is set; running = neither."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(View, frozen=True):
    """status.containerStatuses[]."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodSpec(View, frozen=True):
    """Pod.spec."""

    node_name: str = ""
    termination_grace_period_seconds: int = 30


class PodStatus(View, frozen=True):
    """Pod.status."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    pod_i_p: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object, frozen=True):
    """v1 Pod."""

    GVR = ("", "v1", "pods")
    KIND = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
