"""Kueue's Workloads."""

from __future__ import annotations

from api.views.base import Condition, Object, View


class WorkloadSpec(View, frozen=True):
    """Workload.spec."""

    queue_name: str = ""
    priority: int = 0
    active: bool = True


class Admission(View, frozen=True):
    """Workload.status.admission."""

    cluster_queue: str = ""


class WorkloadStatus(View, frozen=True):
    """Workload.status."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None


class Workload(Object, frozen=True):
    """kueue.x-k8s.io Workload."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "workloads")
    KIND = "Workload"

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()
