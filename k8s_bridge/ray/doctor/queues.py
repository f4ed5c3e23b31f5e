"""Checks of the queues, classes and topologies that workers are asked for by. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from api.v1alpha1.ray import RaySpec
from api.views import ClusterQueue
from k8s_bridge.core import preflight
from k8s_bridge.ray.doctor.sight import RaySight
from k8s_bridge.runtime.doctor.queues import ASK, CURES
from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, fine, unseen, wrong


def queues_of(spec: RaySpec) -> frozenset[str]:
    """The LocalQueues that the section names."""
    return frozenset(pool.local_queue or spec.local_queue for pool in spec.pool_mappings)


def queues(sight: RaySight) -> Iterator[Finding]:
    """Each LocalQueue leads to a ClusterQueue that admits here and now."""
    for name, local in sight.local_queues.items():
        target = local.spec.cluster_queue if local and not isinstance(local, Hidden) else ""
        queue = sight.cluster_queues.get(target)
        if isinstance(local, Hidden):
            yield unseen(f"LocalQueue {name}: {local.why}", cure=ASK)
        elif isinstance(queue, Hidden):
            yield unseen(f"ClusterQueue {target}: {queue.why}", cure=ASK)
        else:
            reason, text = preflight.queue_trouble(
                name,
                namespace=sight.mixing.metadata.namespace,
                local_queue=local,
                cluster_queue=queue,
                checks=[one for one in sight.checks if one.metadata.name in _named(queue)],
            )
            yield wrong(text, cure=CURES[reason]) if reason else fine(f"LocalQueue {name} admits by {target}")


def _named(queue: ClusterQueue | None) -> frozenset[str]:
    found = queue.spec.admission_checks_strategy.admission_checks if queue else ()
    return frozenset(one.name for one in found)


def classes(sight: RaySight) -> Iterator[Finding]:
    """The WorkloadPriorityClass of each pool is there."""
    for name, found in sight.classes.items():
        if isinstance(found, Hidden):
            yield unseen(f"WorkloadPriorityClass {name}: {found.why}", cure=ASK)
            continue
        pools = [one.pool for one in sight.spec.pool_mappings if one.workload_priority_class == name]
        reason, text = preflight.class_trouble(name, found)
        cure = f"create it, or correct workloadPriorityClass of pool {', '.join(pools)}"
        yield wrong(text, cure=cure) if reason else fine(f"WorkloadPriorityClass {name} is there")


def topology(sight: RaySight) -> Iterator[Finding]:
    """The preferred topology level is one of the flavors that workers can get."""
    level = sight.spec.worker.preferred_topology
    for name, queue in sight.cluster_queues.items():
        if not level or queue is None or isinstance(queue, Hidden):
            continue
        flavors = [flavor.name for group in queue.spec.resource_groups for flavor in group.flavors]
        named = {sight.flavors.get(flavor, "") for flavor in flavors}
        there = [one for key, one in sight.topologies.items() if key in named]
        reason, text = preflight.topology_trouble(level, queue=name, flavors=flavors, topologies=there)
        cure = "correct ray.worker.preferredTopology, or topologyName of a ResourceFlavor"
        yield wrong(text, cure=cure) if reason else fine(f"ClusterQueue {name} has level {level}")


QUEUES = (
    Check(name="ray-queues", why="jobs that are sent there wait for ever", look=queues),
    Check(
        name="ray-priority-classes", why="Kueue makes no Workload, and says so in an event only", look=classes
    ),
    Check(name="ray-topology", why="Kueue places nothing by a level that the flavors lack", look=topology),
)
"""All of them."""
