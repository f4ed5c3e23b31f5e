"""The kinds the embedded API server serves, and what differs between them. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Propagation(StrEnum):
    """What happens to dependents when their owner is deleted (metav1.DeletionPropagation)."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, eq=False, kw_only=True)
class Kind:
    """One served resource. Compared and hashed by identity: there is one instance for each resource.

    `custom`: served from a CustomResourceDefinition (PUT needs a resourceVersion, create drops status).
    `generation`: metadata.generation is kept and counts changes of anything but metadata and status.
    `graceful`: deletion first sets a deletionTimestamp in the future; the kubelet finishes it.
    `fields`: the field selectors the real server supports beyond metadata.name and metadata.namespace.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = True
    custom: bool = True
    generation: bool = True
    graceful: bool = False
    status_on_create: bool = False
    propagation: Propagation = Propagation.BACKGROUND
    short_names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` of the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`plural.group`, as error messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __repr__(self) -> str:
        return f"Kind({self.resource}/{self.version})"


def _core(plural: str, kind: str, **traits: object) -> Kind:
    defaults = {"custom": False, "generation": False, "has_status": False}
    return Kind(group="", version="v1", plural=plural, kind=kind, **(defaults | traits))  # type: ignore[arg-type]


def _kueue(plural: str, kind: str, **traits: object) -> Kind:
    return Kind(group="kueue.x-k8s.io", version="v1beta2", plural=plural, kind=kind, **traits)  # type: ignore[arg-type]


def _policy(plural: str, kind: str, version: str) -> Kind:
    return Kind(
        group="admissionregistration.k8s.io",
        version=version,
        plural=plural,
        kind=kind,
        namespaced=False,
        has_status=False,
        custom=False,
    )


def _ray(plural: str, kind: str) -> Kind:
    return Kind(group="ray.io", version="v1", plural=plural, kind=kind)


PODS = _core(
    "pods",
    "Pod",
    has_status=True,
    generation=True,
    graceful=True,
    short_names=("po",),
    fields=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
    ),
)
NODES = _core(
    "nodes",
    "Node",
    namespaced=False,
    has_status=True,
    status_on_create=True,
    short_names=("no",),
    fields=("spec.unschedulable",),
)
EVENTS = _core(
    "events",
    "Event",
    short_names=("ev",),
    fields=(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "reason",
        "type",
    ),
)
NAMESPACES = _core(
    "namespaces",
    "Namespace",
    namespaced=False,
    has_status=True,
    short_names=("ns",),
    fields=("status.phase",),
)
SECRETS = _core("secrets", "Secret", fields=("type",))
CONFIGMAPS = _core("configmaps", "ConfigMap", short_names=("cm",))
SERVICEACCOUNTS = _core("serviceaccounts", "ServiceAccount", short_names=("sa",))
SERVICES = _core("services", "Service", has_status=True, short_names=("svc",))
JOBS = Kind(
    group="batch",
    version="v1",
    plural="jobs",
    kind="Job",
    custom=False,
    propagation=Propagation.ORPHAN,
    fields=("status.successful",),
)
DEPLOYMENTS = Kind(
    group="apps",
    version="v1",
    plural="deployments",
    kind="Deployment",
    custom=False,
    status_on_create=True,
    short_names=("deploy",),
)
LEASES = Kind(
    group="coordination.k8s.io",
    version="v1",
    plural="leases",
    kind="Lease",
    has_status=False,
    custom=False,
    generation=False,
)
JOBSETS = Kind(group="jobset.x-k8s.io", version="v1alpha2", plural="jobsets", kind="JobSet")
WORKLOADS = _kueue("workloads", "Workload", short_names=("wl",))
LOCALQUEUES = _kueue("localqueues", "LocalQueue", short_names=("queue", "queues", "lq"))
CLUSTERQUEUES = _kueue("clusterqueues", "ClusterQueue", namespaced=False, short_names=("cq",))
RESOURCEFLAVORS = _kueue(
    "resourceflavors",
    "ResourceFlavor",
    namespaced=False,
    has_status=False,
    short_names=("flavor", "flavors", "rf"),
)
PRIORITYCLASSES = _kueue(
    "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False, has_status=False
)
COHORTS = _kueue("cohorts", "Cohort", namespaced=False)
ADMISSIONCHECKS = _kueue("admissionchecks", "AdmissionCheck", namespaced=False)
TOPOLOGIES = _kueue("topologies", "Topology", namespaced=False, has_status=False)
MUTATING_POLICIES = _policy("mutatingadmissionpolicies", "MutatingAdmissionPolicy", "v1beta1")
MUTATING_BINDINGS = _policy("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "v1beta1")
VALIDATING_POLICIES = _policy("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "v1")
VALIDATING_BINDINGS = _policy("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "v1")
MUTATING_WEBHOOKS = _policy("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "v1")
VALIDATING_WEBHOOKS = _policy("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "v1")
RAYCLUSTERS = _ray("rayclusters", "RayCluster")
RAYJOBS = _ray("rayjobs", "RayJob")
RAYCRONJOBS = _ray("raycronjobs", "RayCronJob")
WORKLOADMIXINGS = Kind(
    group="k8s-bridge.x-k8s.io",
    version="v1alpha1",
    plural="workloadmixings",
    kind="WorkloadMixing",
)

ALL: tuple[Kind, ...] = (
    PODS,
    NODES,
    EVENTS,
    NAMESPACES,
    SECRETS,
    CONFIGMAPS,
    SERVICEACCOUNTS,
    SERVICES,
    JOBS,
    DEPLOYMENTS,
    LEASES,
    JOBSETS,
    WORKLOADS,
    LOCALQUEUES,
    CLUSTERQUEUES,
    RESOURCEFLAVORS,
    PRIORITYCLASSES,
    COHORTS,
    ADMISSIONCHECKS,
    TOPOLOGIES,
    MUTATING_POLICIES,
    MUTATING_BINDINGS,
    VALIDATING_POLICIES,
    VALIDATING_BINDINGS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    RAYCLUSTERS,
    RAYJOBS,
    RAYCRONJOBS,
    WORKLOADMIXINGS,
)
BY_RESOURCE: dict[tuple[str, str, str], Kind] = {(k.group, k.version, k.plural): k for k in ALL}
BY_KIND: dict[tuple[str, str], Kind] = {(k.api_version, k.kind): k for k in ALL}
