"""ClusterQueues, with their quota."""

from __future__ import annotations

from api.views.base import Object, View
from api.views.local_queue import QueueStatus


class Named(View, frozen=True):
    """Whatever is told of by its name alone."""

    name: str = ""


class ResourceQuota(View, frozen=True):
    """The nominal quota of a resource; a quantity."""

    name: str = ""
    nominal_quota: str | int = 0


class FlavorQuotas(Named, frozen=True):
    """What a ClusterQueue has of one flavor."""

    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(View, frozen=True):
    """The flavors that one group of resources can come from."""

    flavors: tuple[FlavorQuotas, ...] = ()


class AdmissionChecksStrategy(View, frozen=True):
    """The AdmissionChecks of a ClusterQueue."""

    admission_checks: tuple[Named, ...] = ()


class ClusterQueueSpec(View, frozen=True):
    """ClusterQueue.spec."""

    stop_policy: str = "None"
    resource_groups: tuple[ResourceGroup, ...] = ()
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()


class ClusterQueue(Object, frozen=True):
    """kueue.x-k8s.io ClusterQueue."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "clusterqueues")
    KIND = "ClusterQueue"
    NAMESPACED = False

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: QueueStatus = QueueStatus()
