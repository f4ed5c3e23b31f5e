"""Checks of the queues, classes and topologies that a WorkloadMixing sends jobs to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from api.v1alpha1.partition import PartitionMapping
from api.v1alpha1.workloadmixing import WorkloadMixing
from api.views import AdmissionCheck, ClusterQueue
from k8s_bridge.core import preflight
from k8s_bridge.runtime.doctor.queues import ASK, CURES
from k8s_bridge.runtime.doctor.verdict import Check, Finding, Hidden, Seen, fine, unseen, wrong
from k8s_bridge.runtime.doctor.views import Namespace, QueueDetails, selects
from k8s_bridge.slurm.doctor.sight import MixingSight
from k8s_bridge.slurm.jobset.resources import resource_name
from k8s_bridge.slurm.policy import Policies, Trouble

T = TypeVar("T")


def queues(sight: MixingSight) -> Iterator[Finding]:
    """Each LocalQueue leads to a ClusterQueue that admits here and now."""
    for name, local in sight.local_queues.items():
        if isinstance(local, Hidden):
            yield unseen(f"LocalQueue {name}: {local.why}", cure=ASK)
            continue
        target = "" if local is None else local.spec.cluster_queue
        queue = sight.cluster_queues.get(target)
        if isinstance(queue, Hidden):
            yield unseen(f"ClusterQueue {target}: {queue.why}", cure=ASK)
            continue
        reason, text = preflight.queue_trouble(
            name,
            namespace=sight.mixing.metadata.namespace,
            local_queue=local,
            cluster_queue=queue,
            checks=_checks_of(queue, sight),
        )
        yield wrong(text, cure=CURES[reason]) if reason else fine(f"LocalQueue {name} admits by {target}")


def _checks_of(queue: ClusterQueue | None, sight: MixingSight) -> Iterator[AdmissionCheck]:
    named = queue.spec.admission_checks_strategy.admission_checks if queue else ()
    wanted = {one.name for one in named}
    return (check for check in sight.checks if check.metadata.name in wanted)


def admitted_namespaces(sight: MixingSight) -> Iterator[Finding]:
    """The ClusterQueues take Workloads from this namespace."""
    namespace = sight.namespace
    if not isinstance(namespace, Namespace):
        return
    for name, queue in _present(sight.details):
        selector = queue.spec.namespace_selector
        if selector is None:
            yield wrong(
                f"ClusterQueue {name} has no namespaceSelector, and so takes from no namespace",
                cure="set namespaceSelector: {} to take from all",
            )
        elif not selects(selector, namespace.metadata.labels):
            yield wrong(
                f"namespaceSelector of ClusterQueue {name} leaves namespace {namespace.metadata.name} out",
                cure="correct the selector, or label the namespace",
            )
        else:
            yield fine(f"ClusterQueue {name} takes from namespace {namespace.metadata.name}")


def resources(sight: MixingSight) -> Iterator[Finding]:
    """The ClusterQueues cover every resource that pods are sure to ask for."""
    for name, queue in _present(sight.details):
        covered = {item for group in queue.spec.resource_groups for item in group.covered_resources}
        missing = sorted(_asked(sight, name) - covered)
        if missing:
            yield wrong(
                f"ClusterQueue {name} does not cover {', '.join(missing)}",
                cure="add to coveredResources, with a quota in each flavor; or list it in Kueue's "
                "resources.excludeResourcePrefixes",
            )
        else:
            yield fine(f"ClusterQueue {name} covers what pods ask for")


def _asked(sight: MixingSight, queue: str) -> set[str]:
    """Resources of the pods of those partitions that feed the ClusterQueue."""
    mixing, asked = sight.mixing, {"cpu", "memory"}
    routes = Policies(mixing).routes()
    for mapping in mixing.spec.partition_mappings:
        locals_ = (sight.local_queues.get(one) for one in routes[mapping.partition_name][0])
        feeds = any(
            one and not isinstance(one, Hidden) and one.spec.cluster_queue == queue for one in locals_
        )
        if feeds:
            asked |= _devices(mapping, mixing)
    return asked


def _devices(mapping: PartitionMapping, mixing: WorkloadMixing) -> set[str]:
    shape = mapping.node_shape
    gpu = resource_name("gpu", "", slurmd=mixing.spec.slurmd) if shape and shape.gpus else None
    return {gpu} if gpu else set()


def classes(sight: MixingSight) -> Iterator[Finding]:
    """Each WorkloadPriorityClass is there."""
    for name, found in sight.classes.items():
        if isinstance(found, Hidden):
            yield unseen(f"WorkloadPriorityClass {name}: {found.why}", cure=ASK)
            continue
        reason, text = preflight.class_trouble(name, found)
        cure = "create it, or correct workloadPriorityClass in the WorkloadMixing"
        yield wrong(text, cure=cure) if reason else fine(f"WorkloadPriorityClass {name} is there")


def topology(sight: MixingSight) -> Iterator[Finding]:
    """Each topology level is one of the flavors that jobs of the partition can get."""
    spec = sight.mixing.spec
    routes = Policies(sight.mixing).routes()
    for mapping in spec.partition_mappings:
        asked = mapping.topology or spec.topology
        for level in filter(None, {asked.required_level, asked.preferred_level}):
            for queue in sorted(routes[mapping.partition_name][0]):
                yield from _level(level, queue, sight)


def _level(level: str, queue: str, sight: MixingSight) -> Iterator[Finding]:
    local = sight.local_queues.get(queue)
    target = local.spec.cluster_queue if local and not isinstance(local, Hidden) else ""
    found = sight.cluster_queues.get(target)
    if found is None or isinstance(found, Hidden):
        return
    flavors = [flavor.name for group in found.spec.resource_groups for flavor in group.flavors]
    named = {sight.flavors.get(flavor, "") for flavor in flavors}
    there = [one for name, one in sight.topologies.items() if name in named]
    trouble: Trouble = preflight.topology_trouble(level, queue=target, flavors=flavors, topologies=there)
    cure = "correct topology in the WorkloadMixing, or topologyName of a ResourceFlavor"
    yield wrong(trouble[1], cure=cure) if trouble[0] else fine(f"ClusterQueue {target} has level {level}")


def _present(found: Mapping[str, Seen[QueueDetails]]) -> Iterator[tuple[str, QueueDetails]]:
    return ((name, one) for name, one in found.items() if isinstance(one, QueueDetails))


QUEUES = (
    Check(name="queues", why="jobs that are sent there wait for ever", look=queues),
    Check(name="queue-namespaces", why="Kueue keeps the Workloads inadmissible", look=admitted_namespaces),
    Check(name="queue-resources", why="Kueue never admits a Workload that asks for more", look=resources),
    Check(name="priority-classes", why="Kueue makes no Workload, and says so in an event only", look=classes),
    Check(name="topology", why="Kueue places nothing by a level that the flavors lack", look=topology),
)
"""All of them."""
