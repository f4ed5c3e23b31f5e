"""Checks of the cluster as a whole. Each function: from what was seen to findings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from k8s_bridge.runtime.doctor.deployments import running
from k8s_bridge.runtime.doctor.kinds import COMMON, KINDS_WHY, kinds_served
from k8s_bridge.runtime.doctor.rights import Chart, all_allowed
from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, doubtful, fine, unseen, wrong
from k8s_bridge.runtime.doctor.views import selects
from k8s_bridge.slurm.doctor.sight import ClusterSight

BRIDGE, KUEUE, JOBSET = "k8s-bridge", "kueue", "jobset"
_FRAMEWORK = "jobset.x-k8s.io/jobset"


def kinds(sight: ClusterSight) -> Iterator[Finding]:
    """All kinds are served in the versions that are spoken here."""
    yield from kinds_served(COMMON, sight.served)


def controllers(sight: ClusterSight) -> Iterator[Finding]:
    """The Deployments of Kueue, JobSet and the bridge are available."""
    for name in (KUEUE, JOBSET, BRIDGE):
        yield from running(name, sight.deployments)


def rights(sight: ClusterSight) -> Iterator[Finding]:
    """The bridge may do what it has to."""
    yield from all_allowed(
        sight.rights, whose=sight.whose, chart=Chart(bridge="slurmBridge", names="secrets or .configMaps")
    )


def kueue_looks(sight: ClusterSight) -> Iterator[Finding]:
    """Kueue's configuration has it look at JobSets of the namespaces that are served."""
    if sight.kueue is None:
        return
    if isinstance(sight.kueue, Hidden):
        yield unseen(sight.kueue.why, cure="ask as somebody who may read ConfigMaps of Kueue's namespace")
        return
    frameworks = sight.kueue.integrations.get("frameworks") or ()
    if frameworks and _FRAMEWORK not in frameworks:
        cure = f"add {_FRAMEWORK} to integrations.frameworks in Kueue's configuration, and restart Kueue"
        yield wrong("Kueue's integration with JobSet is switched off", cure=cure)
    else:
        yield fine("Kueue's integration with JobSet is on")
    for name, namespace in sight.namespaces.items():
        if namespace is None or isinstance(namespace, Hidden):
            continue
        if not selects(sight.kueue.managed_jobs_namespace_selector, namespace.metadata.labels):
            cure = "correct the selector in Kueue's configuration, or the labels of the namespace"
            yield wrong(f"managedJobsNamespaceSelector leaves namespace {name} out", cure=cure)


def namespaces(sight: ClusterSight) -> Iterator[Finding]:
    """The namespaces that are looked at are there, and hold WorkloadMixings."""
    for name, found in sight.namespaces.items():
        if found is None:
            yield wrong(f"there is no namespace {name}", cure=f"kubectl create namespace {name}")
        elif isinstance(found, Hidden):
            yield unseen(f"namespace {name}: {found.why}", cure="ask as somebody who may get namespaces")
        elif found.metadata.deletion_timestamp is not None:
            cure = "wait until it is gone, and create it again"
            yield wrong(f"namespace {name} is being deleted: nothing can be created in it", cure=cure)
        else:
            yield fine(f"namespace {name} is there")
    if not sight.mixings:
        where = ", ".join(sight.namespaces)
        cure = "create one (docs/custom-resource.md), or name its namespace with --namespace"
        yield doubtful(f"there is no WorkloadMixing of a Slurm cluster in {where}", cure=cure)


CLUSTER = (
    Check(name="kinds", why=KINDS_WHY, look=kinds),
    Check(name="namespaces", why="WorkloadMixings and JobSets live there", look=namespaces),
    Check(name="controllers", why="nobody acts on what is written", look=controllers),
    Check(name="rights", why="what the bridge may not do stays undone", look=rights),
    Check(
        name="kueue-configuration", why="Kueue leaves the JobSets alone: they wait for ever", look=kueue_looks
    ),
)
"""All of them."""
