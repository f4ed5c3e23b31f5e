"""What happens to nodes: slurmds register and vanish, administrators set states, records are deleted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from k8s_bridge.sandbox.slurm_fake import ending, nodes
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.nodes import Node

_KNOWN = frozenset(
    {
        "address", "comment", "cpu_bind", "extra", "features", "features_act", "gres", "hostname", "name",
        "reason", "reason_uid", "resume_after", "state", "topology_str", "weight",
    }
)  # fmt: skip


def register(cluster: Cluster, name: str, conf: str) -> Node:
    """A slurmd reports. While a record of that name lives, the conf is ignored; a DOWN node is back."""
    fresh = nodes.from_conf(name, conf, now=cluster.now)
    node = cluster.nodes.setdefault(name, fresh)
    node.alive, node.silent_since, node.started = True, 0.0, fresh.started
    back_to_service(cluster, node)
    return node


def back_to_service(cluster: Cluster, node: Node) -> None:
    """The slurmd answers: no longer DOWN, and not silent."""
    node.down = node.not_responding = False
    cluster.nodes_touched()


def lose(cluster: Cluster, name: str) -> None:
    """A slurmd and its jobs are gone without a word; slurmctld finds out after SlurmdTimeout."""
    if node := cluster.nodes.get(name):
        node.alive, node.silent_since = False, cluster.now
        for job_id in node.shares:
            cluster.jobs[job_id].ends_at = math.inf


def update(cluster: Cluster, name: str, description: Mapping[str, Any]) -> None:
    """An administrator's change. Raises SlurmError for an unknown node or state."""
    node = cluster.node(name)
    words = description.get("state", [])
    for word in [words] if isinstance(words, str) else words:
        change = _STATES.get(word)
        if change is None:
            raise SlurmError(Errno.NODE_STATE)
        change(cluster, node, description.get("reason") or "")
    if not words and "reason" in description:
        node.reason, node.reason_time = description["reason"], int(cluster.now)
    if "features" in description:
        given = description["features"]
        node.features = tuple(given.split(",") if isinstance(given, str) else given)
    node.comment = description.get("comment", node.comment)
    node.extra = description.get("extra", node.extra)
    cluster.nodes_touched()


def delete(cluster: Cluster, name: str) -> None:
    """Delete a record; a slurmd behind it stays silent. Raises SlurmError when jobs run or complete there."""
    node = cluster.node(name)
    if node.shares or node.completing_until > cluster.now:
        raise SlurmError(Errno.NODES_BUSY)
    del cluster.nodes[name]
    cluster.nodes_touched()


def unknown_warnings(description: Mapping[str, Any]) -> list[dict[str, str]]:
    """What slurmrestd says about keys that it ignores."""
    text = 'Ignoring unknown field "{}" of type {} in DATA_PARSER_UPDATE_NODE_MSG'
    kinds = {int: "64 bit integer", str: "string", bool: "boolean", list: "list"}
    unknown = {key: value for key, value in description.items() if key not in _KNOWN}
    return [
        {"description": text.format(key, kinds.get(type(value), "dictionary")), "source": f"#/{key}/"}
        for key, value in unknown.items()
    ]


def _drain(cluster: Cluster, node: Node, reason: str) -> None:
    node.drain, node.reason, node.reason_time = True, reason, int(cluster.now)


def _down(cluster: Cluster, node: Node, reason: str) -> None:
    ending.node_failed(cluster, node, reason=reason)


def _resume(_cluster: Cluster, node: Node, _reason: str) -> None:
    node.drain = node.down = False
    node.not_responding = not node.alive
    node.reason, node.reason_time = "", 0


_STATES: dict[str, Callable[[Cluster, Node, str], None]] = {
    "DOWN": _down,
    "DRAIN": _drain,
    "RESUME": _resume,
    "UNDRAIN": _resume,
    "IDLE": _resume,
}
