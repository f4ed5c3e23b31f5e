"""Looks at what the `ray` section of one WorkloadMixing names, with reads and dry runs only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from api.ray_views import RayCluster
from api.v1alpha1.ray import RaySpec
from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import (
    AdmissionCheck,
    ClusterQueue,
    LocalQueue,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
)
from k8s_bridge.core.errors import BridgeError, Missing, Terminal
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.ray.addresses import Addresses
from k8s_bridge.ray.doctor.queues import queues_of
from k8s_bridge.ray.doctor.sight import Answer, HeadSight, RaySight
from k8s_bridge.ray.enforcement import is_held
from k8s_bridge.ray.head import Address, RayHead
from k8s_bridge.runtime.doctor.looking import every, listed, seen
from k8s_bridge.runtime.doctor.mixings import Found
from k8s_bridge.runtime.doctor.verdict import Hidden, Seen
from k8s_bridge.runtime.doctor.views import Namespace
from k8s_bridge.runtime.redact import Redactor


async def look(
    client: KubeClient, found: Found, spec: RaySpec, *, within: bool, others: Iterable[WorkloadMixing]
) -> RaySight:
    """Everything that the checks need. Raises nothing: what is hidden is data."""
    namespace = found.mixing.metadata.namespace
    names = [managed.name for managed in spec.managed_clusters]
    clusters = await every(client, RayCluster, names, namespace=namespace)
    locals_ = await every(client, LocalQueue, queues_of(spec), namespace=namespace)
    targets = {one.spec.cluster_queue for one in locals_.values() if isinstance(one, LocalQueue)}
    classes = {pool.workload_priority_class for pool in spec.pool_mappings}
    return RaySight(
        mixing=found.mixing,
        spec=spec,
        conditions=found.conditions,
        within=within,
        namespace=await seen(client.get(Namespace, name=namespace)),
        held=await _held(client, namespace, names[0]),
        clusters=clusters,
        heads=await _heads(client, clusters),
        local_queues=locals_,
        cluster_queues=await every(client, ClusterQueue, targets),
        classes=await every(client, WorkloadPriorityClass, classes),
        checks=await listed(client, AdmissionCheck),
        flavors={one.metadata.name: one.spec.topology_name for one in await listed(client, ResourceFlavor)},
        topologies={one.metadata.name: one for one in await listed(client, Topology)},
        rivals=rivals(found.mixing, others),
    )


def rivals(mixing: WorkloadMixing, others: Iterable[WorkloadMixing]) -> Mapping[str, str]:
    """Clusters that others of the same namespace manage too, each with which."""
    ours = _managed(mixing)
    return {
        cluster: f"{other.metadata.namespace}/{other.metadata.name}"
        for other in others
        if other is not mixing and other.metadata.namespace == mixing.metadata.namespace
        for cluster in sorted(ours & _managed(other))
    }


def _managed(mixing: WorkloadMixing) -> frozenset[str]:
    spec = mixing.spec.ray
    return frozenset(one.name for one in spec.managed_clusters) if spec else frozenset()


async def _held(client: KubeClient, namespace: str, cluster: str) -> bool | Hidden:
    try:
        return await is_held(client, namespace, cluster)
    except BridgeError as error:
        return Hidden(str(error))


async def _heads(client: KubeClient, clusters: Mapping[str, Seen[RayCluster]]) -> dict[str, HeadSight]:
    addresses, head = Addresses(client, Redactor()), RayHead()
    there = {name: one for name, one in clusters.items() if isinstance(one, RayCluster)}
    try:
        asked = {name: await _ask(addresses, head, one) for name, one in there.items()}
    finally:
        await head.aclose()
    return {name: answer for name, answer in asked.items() if answer is not None}


async def _ask(addresses: Addresses, head: RayHead, cluster: RayCluster) -> HeadSight | None:
    try:
        address = await addresses.of(cluster)
    except (Missing, Terminal) as error:
        lost = isinstance(error, Missing) or error.reason == "RayTokenMissing"
        return HeadSight(answer=Answer.TOKEN_MISSING if lost else Answer.TOKEN_HIDDEN, text=str(error))
    except BridgeError as error:
        return HeadSight(answer=Answer.TOKEN_HIDDEN, text=str(error))
    return None if address is None else await _answer(head, address)


async def _answer(head: RayHead, address: Address) -> HeadSight:
    try:
        await head.submissions(address)
    except BridgeError as error:
        refused = isinstance(error, Terminal) and error.reason == "RayTokenRefused"
        return HeadSight(answer=Answer.TOKEN_REFUSED if refused else Answer.SILENT, text=str(error))
    return HeadSight(answer=Answer.FINE)
