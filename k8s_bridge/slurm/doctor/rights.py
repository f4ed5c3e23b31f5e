"""The rights that the bridge needs: what the chart's roles grant (a test compares them)."""

from __future__ import annotations

from collections.abc import Iterator

from api.v1alpha1 import GROUP
from k8s_bridge.runtime.doctor.rights import Right

_SERVED = (
    (GROUP, "workloadmixings", ("get", "list", "patch", "watch")),
    (GROUP, "workloadmixings/status", ("patch",)),
    ("jobset.x-k8s.io", "jobsets", ("create", "delete", "get", "list", "patch", "watch")),
    ("kueue.x-k8s.io", "workloads", ("list", "patch", "watch")),
    ("kueue.x-k8s.io", "localqueues", ("list", "watch")),
    ("batch", "jobs", ("patch",)),
    ("", "pods", ("get", "list", "watch")),
    ("", "events", ("create", "get", "patch")),
)
_EVERYWHERE = (
    ("", "nodes", ("list", "watch")),
    ("kueue.x-k8s.io", "admissionchecks", ("list", "watch")),
    ("kueue.x-k8s.io", "clusterqueues", ("list", "watch")),
    ("kueue.x-k8s.io", "resourceflavors", ("list", "watch")),
    ("kueue.x-k8s.io", "topologies", ("list", "watch")),
    ("kueue.x-k8s.io", "workloadpriorityclasses", ("list", "watch")),
)


def in_namespace(namespace: str) -> Iterator[Right]:
    """What is needed in each namespace that is served."""
    for group, resource, verbs in _SERVED:
        for verb in verbs:
            yield Right(group=group, resource=resource, verb=verb, namespace=namespace)


def everywhere() -> Iterator[Right]:
    """What is needed of kinds without a namespace."""
    for group, resource, verbs in _EVERYWHERE:
        for verb in verbs:
            yield Right(group=group, resource=resource, verb=verb)


def to_lead(namespace: str, *, lease: str) -> Iterator[Right]:
    """What the election needs, in the bridge's own namespace."""
    group = "coordination.k8s.io"
    yield Right(group=group, resource="leases", verb="create", namespace=namespace)
    for verb in ("get", "patch"):
        yield Right(group=group, resource="leases", verb=verb, namespace=namespace, name=lease)


def to_read(kind: str, name: str, *, namespace: str) -> Right:
    """What a reference to one Secret or ConfigMap needs."""
    return Right(group="", resource=f"{kind.lower()}s", verb="get", namespace=namespace, name=name)
