"""The rights that the Ray bridge needs: what the chart's roles grant (a test compares them). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from api.v1alpha1 import GROUP
from k8s_bridge.runtime.doctor.rights import Right

_SERVED = (
    (GROUP, "workloadmixings", ("list", "watch")),
    (GROUP, "workloadmixings/status", ("patch",)),
    ("ray.io", "rayjobs", ("create", "delete", "list", "patch", "watch")),
    ("ray.io", "rayjobs/status", ("patch",)),
    ("ray.io", "rayclusters", ("list", "watch")),
    ("ray.io", "raycronjobs", ("list",)),
    ("jobset.x-k8s.io", "jobsets", ("create", "delete", "get", "list", "watch")),
    ("kueue.x-k8s.io", "localqueues", ("list", "watch")),
    ("kueue.x-k8s.io", "workloads", ("list", "watch")),
    ("", "pods", ("delete", "list", "patch", "watch")),
    ("", "events", ("create", "get", "patch")),
)
_EVERYWHERE = (
    "admissionchecks",
    "clusterqueues",
    "resourceflavors",
    "topologies",
    "workloadpriorityclasses",
)


def in_namespace(namespace: str) -> Iterator[Right]:
    """What is needed in each namespace that is served."""
    for group, resource, verbs in _SERVED:
        for verb in verbs:
            yield Right(group=group, resource=resource, verb=verb, namespace=namespace)


def everywhere() -> Iterator[Right]:
    """What is needed of kinds without a namespace."""
    for resource in _EVERYWHERE:
        for verb in ("list", "watch"):
            yield Right(group="kueue.x-k8s.io", resource=resource, verb=verb)


def token_of(cluster: str, *, namespace: str) -> Right:
    """What the token of a RayCluster needs: KubeRay calls the Secret like the cluster."""
    return Right(group="", resource="secrets", verb="get", namespace=namespace, name=cluster)
