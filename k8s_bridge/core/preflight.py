"""What is wrong with the queues, classes and topologies that jobs are sent to, as (reason, text). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from api.views import AdmissionCheck, ClusterQueue, LocalQueue, Topology, WorkloadPriorityClass
from k8s_bridge.core.admission import condition, is_true

Trouble = tuple[str, str]
"""(reason, text); both empty when all is well."""
NO_TROUBLE: Trouble = ("", "")

_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_STOPPED = frozenset({"Hold", "HoldAndDrain"})


def queue_trouble(
    name: str,
    *,
    namespace: str,
    local_queue: LocalQueue | None,
    cluster_queue: ClusterQueue | None,
    checks: Iterable[AdmissionCheck] = (),
) -> Trouble:
    """Why nothing that is sent to this LocalQueue can be admitted now. `checks`: of the ClusterQueue."""
    whole = f"{namespace}/{name}"
    if local_queue is None:
        return "LocalQueueMissing", f"LocalQueue {whole} does not exist; create it or correct localQueue"
    if local_queue.spec.stop_policy in _STOPPED:
        return "LocalQueueStopped", f"LocalQueue {whole} is stopped ({local_queue.spec.stop_policy})"
    if cluster_queue is None:
        target = local_queue.spec.cluster_queue
        return "ClusterQueueMissing", f"ClusterQueue {target} of LocalQueue {whole} does not exist"
    return _cluster_trouble(cluster_queue, checks)


def _cluster_trouble(queue: ClusterQueue, checks: Iterable[AdmissionCheck]) -> Trouble:
    name = f"ClusterQueue {queue.metadata.name}"
    if queue.spec.stop_policy in _STOPPED:
        return "ClusterQueueStopped", f"{name} is stopped ({queue.spec.stop_policy})"
    active = condition(queue.status.conditions, "Active")
    if active is not None and not is_true(active):
        return "ClusterQueueInactive", f"{name} is inactive: {active.message}"
    if any(check.spec.controller_name == _MULTIKUEUE for check in checks):
        why = "sends its Workloads to other clusters (MultiKueue), and these pods must run in this one"
        return "MultiKueueQueue", f"{name} {why}; use a queue without MultiKueue"
    return NO_TROUBLE


def topology_trouble(
    level: str, *, queue: str, flavors: Iterable[str], topologies: Iterable[Topology]
) -> Trouble:
    """Why Kueue would place nothing by this topology level in this ClusterQueue.

    `flavors`: the names of its flavors; `topologies`: those of them that are there.
    """
    levels = {found.node_label for topology in topologies for found in topology.spec.levels}
    if level in levels:
        return NO_TROUBLE
    known = f"their topologies have {', '.join(sorted(levels))}" if levels else "none of them has a Topology"
    names = ", ".join(sorted(set(flavors))) or "none"
    why = f"no flavor of ClusterQueue {queue} ({names}) has the topology level {level}: {known}"
    cure = "correct topology in the WorkloadMixing, or topologyName of a ResourceFlavor"
    return "TopologyLevelMissing", f"{why}; {cure}"


def class_trouble(name: str, found: WorkloadPriorityClass | None) -> Trouble:
    """Why Kueue would make no Workload: it says so in an event only."""
    if found is None:
        return (
            "PriorityClassMissing",
            f"WorkloadPriorityClass {name} does not exist; create it or correct workloadPriorityClass",
        )
    return NO_TROUBLE
