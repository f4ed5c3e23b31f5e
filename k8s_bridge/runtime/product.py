"""Which bridge a process is: what it calls itself where others see it."""

from __future__ import annotations

from dataclasses import dataclass

from api.v1alpha1 import ConditionType


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One kind of bridge; each has a process, a lease and a condition of its own."""

    name: str
    """As the reporting component of events."""
    lease: str
    """Name of its Lease, unless another is given."""
    metrics: str
    """What its metrics begin with."""
    ready: ConditionType
    """The condition of a WorkloadMixing that says whether this bridge serves it."""


SLURM = Product(
    name="k8s-bridge", lease="k8s-bridge-leader", metrics="k8s_bridge_", ready=ConditionType.READY
)
RAY = Product(
    name="ray-bridge", lease="ray-bridge-leader", metrics="ray_bridge_", ready=ConditionType.RAY_READY
)
