"""Labels and names that KubeRay gives. Pure."""

from __future__ import annotations

CLUSTER_LABEL = "ray.io/cluster"
NODE_TYPE_LABEL = "ray.io/node-type"
GROUP_LABEL = "ray.io/group"
_LONGEST = 50


def head_service(cluster: str) -> str:
    """The name of a RayCluster's head Service."""
    return f"{cluster}-head-svc"


def pod_prefix(owner: str, node_type: str) -> str:
    """The generateName of a pod of a RayCluster: `owner` is the cluster, with a worker's group behind it."""
    return f"{owner[:_LONGEST]}-{node_type}-".lower()
