"""Views of Kubernetes objects that only the doctor looks at."""

from __future__ import annotations

from typing import Any

import msgspec

from api.views import Object, View


class Container(View, frozen=True):
    """spec.template.spec.containers[] of a Deployment."""

    image: str = ""
    args: tuple[str, ...] = ()


class PodSpec(View, frozen=True):
    """spec.template.spec of a Deployment."""

    service_account_name: str = "default"
    containers: tuple[Container, ...] = ()


class PodTemplate(View, frozen=True):
    """spec.template of a Deployment."""

    spec: PodSpec = PodSpec()


class DeploymentSpec(View, frozen=True):
    """Deployment.spec."""

    replicas: int = 1
    template: PodTemplate = PodTemplate()


class DeploymentStatus(View, frozen=True):
    """Deployment.status."""

    available_replicas: int = 0


class Deployment(Object, frozen=True):
    """apps/v1 Deployment."""

    GVR = ("apps", "v1", "deployments")
    KIND = "Deployment"

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class Namespace(Object, frozen=True):
    """v1 Namespace."""

    GVR = ("", "v1", "namespaces")
    KIND = "Namespace"
    NAMESPACED = False


class Requirement(View, frozen=True):
    """matchExpressions[] of a label selector."""

    key: str
    operator: str = "In"
    values: tuple[str, ...] = ()


class Selector(View, frozen=True):
    """A label selector; the empty one selects everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


class CoveredGroup(View, frozen=True):
    """spec.resourceGroups[] of a ClusterQueue."""

    covered_resources: tuple[str, ...] = ()


class QueueSpec(View, frozen=True):
    """What of a ClusterQueue's spec only the doctor looks at; without a selector it admits nobody."""

    resource_groups: tuple[CoveredGroup, ...] = ()
    namespace_selector: Selector | None = None


class QueueDetails(Object, frozen=True):
    """kueue.x-k8s.io ClusterQueue."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "clusterqueues")
    KIND = "ClusterQueue"
    NAMESPACED = False

    spec: QueueSpec = QueueSpec()


class KueueConfig(View, frozen=True):
    """The part of Kueue's own configuration that decides whether it looks at our JobSets."""

    managed_jobs_namespace_selector: Selector = Selector()
    integrations: dict[str, Any] = msgspec.field(default_factory=dict)


def selects(selector: Selector, labels: dict[str, str]) -> bool:
    """Whether a label selector matches; an operator that is not known matches nothing."""
    plain = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return plain and all(_holds(one, labels) for one in selector.match_expressions)


def _holds(rule: Requirement, labels: dict[str, str]) -> bool:
    has = rule.key in labels
    match rule.operator:
        case "In":
            return has and labels[rule.key] in rule.values
        case "NotIn":
            return not has or labels[rule.key] not in rule.values
        case "Exists":
            return has
        case "DoesNotExist":
            return not has
        case _:
            return False
