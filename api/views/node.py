"""Nodes of Kubernetes."""

from __future__ import annotations

from api.views.base import Condition, Object, View


class Taint(View, frozen=True):
    """Node.spec.taints[]."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(View, frozen=True):
    """Node.spec."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View, frozen=True):
    """Node.status."""

    conditions: tuple[Condition, ...] = ()


class Machine(Object, frozen=True):
    """v1 Node: a machine of Kubernetes, as nodes are Slurm's in what speaks of both."""

    GVR = ("", "v1", "nodes")
    KIND = "Node"
    NAMESPACED = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
