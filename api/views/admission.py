"""AdmissionChecks and WorkloadPriorityClasses."""

from __future__ import annotations

from api.views.base import Object, View


class AdmissionCheckSpec(View, frozen=True):
    """AdmissionCheck.spec."""

    controller_name: str = ""


class AdmissionCheck(Object, frozen=True):
    """kueue.x-k8s.io AdmissionCheck."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "admissionchecks")
    KIND = "AdmissionCheck"
    NAMESPACED = False

    spec: AdmissionCheckSpec = AdmissionCheckSpec()


class WorkloadPriorityClass(Object, frozen=True):
    """kueue.x-k8s.io WorkloadPriorityClass."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses")
    KIND = "WorkloadPriorityClass"
    NAMESPACED = False

    value: int = 0
