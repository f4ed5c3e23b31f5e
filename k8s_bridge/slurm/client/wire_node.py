"""A node and a partition on the wire, and their translation to the lean model."""

from __future__ import annotations

import msgspec

from k8s_bridge.slurm.client.number import AnyNumber, of64, time_of
from k8s_bridge.slurm.client.results import Partition
from k8s_bridge.slurm.client.wire_job import words
from k8s_bridge.slurm.model import Node

Words = str | tuple[str, ...] | None


class WireNode(msgspec.Struct, frozen=True):
    """The fields that are used. v0.0.38 has the base state in lower case and its flags apart."""

    name: str
    state: Words = None
    state_flags: tuple[str, ...] = ()
    features: Words = None
    active_features: Words = None
    cpus: AnyNumber = None
    real_memory: AnyNumber = None
    gres: str | None = None
    partitions: tuple[str, ...] | None = None
    reason: str | None = None
    alloc_cpus: AnyNumber = None
    slurmd_start_time: AnyNumber = None


def node_of(wire: WireNode) -> Node:
    """The lean model of a node. Its features are those that jobs are matched with now."""
    return Node(
        name=wire.name,
        states=words(wire.state or ()) | words(wire.state_flags),
        features=_names(wire.active_features) or _names(wire.features),
        cpus=of64(wire.cpus) or 0,
        real_memory=of64(wire.real_memory) or 0,
        gres=wire.gres or "",
        partitions=wire.partitions or (),
        reason=wire.reason or "",
        alloc_cpus=of64(wire.alloc_cpus) or 0,
        started=time_of(wire.slurmd_start_time),
    )


class PartitionNodes(msgspec.Struct, frozen=True):
    """partition.nodes."""

    configured: str | None = None


class PartitionState(msgspec.Struct, frozen=True):
    """partition.partition."""

    state: tuple[str, ...] = ()


class WirePartition(msgspec.Struct, frozen=True):
    """The fields that are used."""

    name: str
    node_sets: str | None = None
    nodes: PartitionNodes | str | None = None
    partition: PartitionState | None = None
    state: str | None = None


def partition_of(wire: WirePartition) -> Partition:
    """The lean model of a partition."""
    nodes = wire.nodes.configured if isinstance(wire.nodes, PartitionNodes) else wire.nodes
    state: str | tuple[str, ...] = wire.partition.state if wire.partition else wire.state or ()
    return Partition(name=wire.name, nodes=wire.node_sets or nodes or "", states=words(state))


def _names(raw: Words) -> tuple[str, ...]:
    parts = raw.split(",") if isinstance(raw, str) else raw or ()
    return tuple(part for part in parts if part)
