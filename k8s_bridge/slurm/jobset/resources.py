"""What a node's GRES are in Kubernetes, and the resources of its container."""

from __future__ import annotations

from api.v1alpha1.slurmd import GresResource, Slurmd
from k8s_bridge.slurm.layout.types import Layout, Refusal, Shape

_DEVICE_CLASS = "deviceclass.resource.kubernetes.io"
"""Prefix of the extended resource that stands for a DRA device class."""


def resource_name(name: str, kind: str, *, slurmd: Slurmd) -> str | None:
    """The extended resource of a GRES: by name and type, by name, or the default for gpu; None for others."""
    mapped = {item.gres: item for item in slurmd.gres_resources}
    found = mapped.get(f"{name}:{kind}") or mapped.get(name)
    if found is not None:
        return _target(found)
    return slurmd.gpu_resource_name if name == "gpu" else None


def unmapped(layout: Layout, *, slurmd: Slurmd) -> Refusal | None:
    """The refusal for a GRES that has no resource in Kubernetes, or None."""
    for group in layout.groups:
        for name, kind, _ in group.shape.gres:
            if resource_name(name, kind, slurmd=slurmd) is None:
                gres = f"{name}:{kind}" if kind else name
                return Refusal(
                    option=f"--gres={gres}",
                    text=f"GRES {gres} has no resource in Kubernetes; ask for its entry in gresResources.",
                )
    return None


def container_resources(shape: Shape, *, slurmd: Slurmd) -> dict[str, str]:
    """Requests, which are the limits too. Memory is Slurm's plus slurmd's own; none if none was asked."""
    resources = {"cpu": str(shape.cpus)}
    if shape.memory:
        resources["memory"] = f"{shape.memory + slurmd.memory_overhead}Mi"
    for name, kind, count in shape.gres:
        resource = resource_name(name, kind, slurmd=slurmd)
        if resource is not None:
            resources[resource] = str(int(resources.get(resource, "0")) + count)
    return resources


def _target(item: GresResource) -> str:
    return item.resource_name or f"{_DEVICE_CLASS}/{item.device_class_name}"
