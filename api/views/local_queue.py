"""LocalQueues, with what is used of them."""

from __future__ import annotations

from api.views.base import Condition, Object, View


class LocalQueueSpec(View, frozen=True):
    """LocalQueue.spec."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class ResourceUsage(View, frozen=True):
    """How much of a resource is reserved; a quantity."""

    name: str = ""
    total: str | int = 0


class FlavorUsage(View, frozen=True):
    """What is reserved of one flavor."""

    name: str = ""
    resources: tuple[ResourceUsage, ...] = ()


class QueueStatus(View, frozen=True):
    """status of a LocalQueue or ClusterQueue."""

    conditions: tuple[Condition, ...] = ()
    pending_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: tuple[FlavorUsage, ...] = ()


class LocalQueue(Object, frozen=True):
    """kueue.x-k8s.io LocalQueue."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "localqueues")
    KIND = "LocalQueue"

    spec: LocalQueueSpec = LocalQueueSpec()
    status: QueueStatus = QueueStatus()
