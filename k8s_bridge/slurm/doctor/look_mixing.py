"""Looks at what one WorkloadMixing names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import (
    AdmissionCheck,
    ClusterQueue,
    Condition,
    LocalQueue,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
)
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.looking import every, listed, seen
from k8s_bridge.runtime.doctor.verdict import Hidden, Seen
from k8s_bridge.runtime.doctor.views import Namespace, QueueDetails
from k8s_bridge.runtime.gates import Gates
from k8s_bridge.slurm.credentials import ConfigMap, Secret
from k8s_bridge.slurm.doctor.checks.mixing import references
from k8s_bridge.slurm.doctor.sight import MixingSight
from k8s_bridge.slurm.policy import Policies

_KINDS: Mapping[str, type[Secret | ConfigMap]] = {"Secret": Secret, "ConfigMap": ConfigMap}


async def look(
    client: KubeClient,
    mixing: WorkloadMixing,
    *,
    conditions: tuple[Condition, ...] | None,
    gates: Gates | None,
    others: Iterable[WorkloadMixing],
) -> MixingSight:
    """Everything that the checks of a WorkloadMixing need. Raises nothing: what is hidden is data."""
    namespace = mixing.metadata.namespace
    routes = Policies(mixing).routes().values()
    queues = {name for names, _ in routes for name in names}
    locals_ = await every(client, LocalQueue, queues, namespace=namespace)
    targets = {one.spec.cluster_queue for one in locals_.values() if isinstance(one, LocalQueue)}
    flavors = await listed(client, ResourceFlavor)
    return MixingSight(
        mixing=mixing,
        conditions=conditions,
        namespace=await seen(client.get(Namespace, name=namespace)),
        local_queues=locals_,
        cluster_queues=await every(client, ClusterQueue, targets),
        details=await every(client, QueueDetails, targets),
        classes=await every(client, WorkloadPriorityClass, {name for _, names in routes for name in names}),
        checks=await listed(client, AdmissionCheck),
        flavors={one.metadata.name: one.spec.topology_name for one in flavors},
        topologies={one.metadata.name: one for one in await listed(client, Topology)},
        objects=await _objects(client, mixing),
        gates=gates,
        rivals=rivals(mixing, others),
    )


def rivals(mixing: WorkloadMixing, others: Iterable[WorkloadMixing]) -> Mapping[str, str]:
    """Partitions that others of the same slurmrestd manage too, each with which."""
    ours = {mapping.partition_name for mapping in mixing.spec.partition_mappings}
    return {
        mapping.partition_name: f"{other.metadata.namespace}/{other.metadata.name}"
        for other in others
        if other is not mixing
        and other.spec.slurm_rest_url.rstrip("/") == mixing.spec.slurm_rest_url.rstrip("/")
        for mapping in other.spec.partition_mappings
        if mapping.partition_name in ours
    }


async def _objects(
    client: KubeClient, mixing: WorkloadMixing
) -> Mapping[tuple[str, str], Seen[frozenset[str]]]:
    named = {(kind, name) for kind, name, _, _ in references(mixing)}
    found = {}
    for kind, name in sorted(named):
        one = await seen(client.get(_KINDS[kind], name=name, namespace=mixing.metadata.namespace))
        found[kind, name] = one if one is None or isinstance(one, Hidden) else frozenset(one.data)
    return found
