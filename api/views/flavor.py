"""ResourceFlavors, and the Topologies that they name."""

from __future__ import annotations

from api.views.base import Object, View


class ResourceFlavorSpec(View, frozen=True):
    """ResourceFlavor.spec."""

    topology_name: str = ""


class ResourceFlavor(Object, frozen=True):
    """kueue.x-k8s.io ResourceFlavor."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "resourceflavors")
    KIND = "ResourceFlavor"
    NAMESPACED = False

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class TopologyLevel(View, frozen=True):
    """One level of a Topology: nodes with one value of this label belong together."""

    node_label: str = ""


class TopologySpec(View, frozen=True):
    """Topology.spec."""

    levels: tuple[TopologyLevel, ...] = ()


class Topology(Object, frozen=True):
    """kueue.x-k8s.io Topology."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "topologies")
    KIND = "Topology"
    NAMESPACED = False

    spec: TopologySpec = TopologySpec()
