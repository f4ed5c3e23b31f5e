"""Checks of the Ray side. Each function: from what was seen to findings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from api.v1alpha1.status import ConditionType
from k8s_bridge.core.admission import condition, is_true
from k8s_bridge.ray import names
from k8s_bridge.ray.doctor.clusters import CLUSTERS
from k8s_bridge.ray.doctor.queues import QUEUES
from k8s_bridge.ray.doctor.sight import ClusterSight, RaySight
from k8s_bridge.runtime.doctor.deployments import COMPONENT_LABEL, running
from k8s_bridge.runtime.doctor.kinds import COMMON, KINDS_WHY, Wanted, kinds_served
from k8s_bridge.runtime.doctor.rights import Chart, all_allowed
from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, doubtful, fine, unseen, wrong

KUBERAY, BRIDGE = "kuberay-operator", "ray-bridge"
RAY_VERSION = "ray.io/v1"
WANTED: Wanted = {
    **COMMON,
    RAY_VERSION: (("rayclusters", "rayjobs"), "install KubeRay 1.6 or newer with its CRDs (tested: 1.6)"),
}
_SINCE_1_6 = "raycronjobs"


def kinds(sight: ClusterSight) -> Iterator[Finding]:
    """All kinds are served in the versions that are spoken here."""
    yield from kinds_served(WANTED, sight.served)


def kuberay(sight: ClusterSight) -> Iterator[Finding]:
    """KubeRay is 1.6 or newer, by the kinds that it serves."""
    served = sight.served.resources.get(RAY_VERSION, frozenset())
    if _SINCE_1_6 in served:
        yield fine("KubeRay is 1.6 or newer")
    elif served:
        text = "this KubeRay is older than 1.6: it would delete the shared cluster to run a job again"
        yield doubtful(text, cure="upgrade KubeRay to 1.6 or newer, its CRDs first (helm leaves those alone)")


def controllers(sight: ClusterSight) -> Iterator[Finding]:
    """The Deployments of KubeRay and the Ray bridge are available."""
    for name in (KUBERAY, BRIDGE):
        yield from running(name, sight.deployments, label=COMPONENT_LABEL)


def rights(sight: ClusterSight) -> Iterator[Finding]:
    """The Ray bridge may do what it has to."""
    yield from all_allowed(
        sight.rights, whose=sight.whose, chart=Chart(bridge="rayBridge", names="tokenSecrets")
    )


def sections(sight: ClusterSight) -> Iterator[Finding]:
    """A WorkloadMixing of the namespaces that are looked at has a `ray` section."""
    if not sight.mixings:
        cure = "write one (docs/ray-bridge.md), or name its namespace with --namespace"
        yield doubtful(f"no WorkloadMixing in {', '.join(sight.where)} has a ray section", cure=cure)


def served(sight: RaySight) -> Iterator[Finding]:
    """A Ray bridge serves it, and found nothing wrong."""
    if sight.conditions is None:
        return
    found = condition(sight.conditions, ConditionType.RAY_READY)
    if found is None:
        cure = (
            "start a Ray bridge, and have it serve this namespace (rayBridge.enabled, rayBridge.namespaces)"
        )
        yield wrong(
            f"no Ray bridge has looked at it: it has no condition {ConditionType.RAY_READY}", cure=cure
        )
    elif is_true(found):
        yield fine("the Ray bridge says that it is ready")
    else:
        cure = "see the other checks here, and `kubectl describe workloadmixing`"
        yield wrong(
            f"the Ray bridge says {found.type}={found.status} ({found.reason}): {found.message}", cure=cure
        )


def enforced(sight: RaySight) -> Iterator[Finding]:
    """The namespace is labelled, and policies or webhook hold a job that is made there."""
    where = sight.mixing.metadata.namespace
    space = sight.namespace
    if space is None:
        yield wrong(f"there is no namespace {where}", cure=f"kubectl create namespace {where}")
        return
    if not isinstance(space, Hidden) and space.metadata.labels.get(names.MANAGED_NAMESPACE) != "true":
        label = f"{names.MANAGED_NAMESPACE}=true"
        yield wrong(
            f"namespace {where} has no label {label}", cure=f"kubectl label namespace {where} {label}"
        )
        return
    if isinstance(sight.held, Hidden):
        cure = "ask as somebody who may create RayJobs there (by a dry run: none is made)"
        yield unseen(f"what the API server would make of a job: {sight.held.why}", cure=cure)
    elif sight.held:
        yield fine(f"jobs in namespace {where} are held until they have workers")
    else:
        cure = "install the chart with rayBridge.admission policy or webhook (auto chooses)"
        yield wrong("neither policies nor a webhook are in force: a job is taken as it is", cure=cure)


def clusters_once(sight: RaySight) -> Iterator[Finding]:
    """No other WorkloadMixing of the namespace manages one of its clusters."""
    for cluster, other in sight.rivals.items():
        text = f"RayCluster {cluster} is managed by {other} too; the older of the two serves it"
        yield wrong(text, cure="take the cluster out of one of the two")
    if not sight.rivals:
        yield fine("its clusters are managed by nobody else")


CLUSTER = (
    Check(name="kinds", why=KINDS_WHY, look=kinds),
    Check(name="kuberay", why="a job that is preempted is given up in place of running again", look=kuberay),
    Check(name="ray-sections", why="the Ray bridge has nothing to do", look=sections),
    Check(name="ray-controllers", why="nobody acts on RayJobs", look=controllers),
    Check(name="ray-rights", why="what the Ray bridge may not do stays undone", look=rights),
)
"""Of the cluster as a whole."""
MIXING = (
    Check(name="ray-served", why="its jobs stay held, or are never held", look=served),
    Check(name="ray-enforced", why="jobs run at once, beside quota and priorities", look=enforced),
    Check(name="ray-clusters-once", why="only one of them gets the cluster's jobs", look=clusters_once),
    *CLUSTERS,
    *QUEUES,
)
"""Of each WorkloadMixing with a `ray` section."""
