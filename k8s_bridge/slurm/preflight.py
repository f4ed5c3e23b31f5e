"""What is wrong with the queues and priority classes that jobs are sent to, as (reason, text). Pure."""

from __future__ import annotations

from api.views import ClusterQueue, LocalQueue, WorkloadPriorityClass
from k8s_bridge.core.admission import condition, is_true
from k8s_bridge.slurm.policy import NO_TROUBLE, Trouble

_STOPPED = frozenset({"Hold", "HoldAndDrain"})


def queue_trouble(
    name: str, *, namespace: str, local_queue: LocalQueue | None, cluster_queue: ClusterQueue | None
) -> Trouble:
    """Why nothing that is sent to this LocalQueue can be admitted now."""
    if local_queue is None:
        return (
            "LocalQueueMissing",
            f"LocalQueue {namespace}/{name} does not exist; create it or correct localQueue",
        )
    if local_queue.spec.stop_policy in _STOPPED:
        return (
            "LocalQueueStopped",
            f"LocalQueue {namespace}/{name} is stopped ({local_queue.spec.stop_policy})",
        )
    target = local_queue.spec.cluster_queue
    if cluster_queue is None:
        return "ClusterQueueMissing", f"ClusterQueue {target} of LocalQueue {namespace}/{name} does not exist"
    if cluster_queue.spec.stop_policy in _STOPPED:
        return "ClusterQueueStopped", f"ClusterQueue {target} is stopped ({cluster_queue.spec.stop_policy})"
    active = condition(cluster_queue.status.conditions, "Active")
    if active is not None and not is_true(active):
        return "ClusterQueueInactive", f"ClusterQueue {target} is inactive: {active.message}"
    return NO_TROUBLE


def class_trouble(name: str, found: WorkloadPriorityClass | None) -> Trouble:
    """Why Kueue would make no Workload: it says so in an event only."""
    if found is None:
        return (
            "PriorityClassMissing",
            f"WorkloadPriorityClass {name} does not exist; create it or correct workloadPriorityClass",
        )
    return NO_TROUBLE
