"""What is wrong with where workers are asked for: queues, priority classes, topology levels."""

from __future__ import annotations

from collections.abc import Iterator

from api.views import ClusterQueue
from k8s_bridge.core.preflight import NO_TROUBLE, Trouble, class_trouble, queue_trouble, topology_trouble
from k8s_bridge.ray.request import Request
from k8s_bridge.ray.tables import Tables


class Troubles:
    """Reads them off the tables of one namespace."""

    def __init__(self, tables: Tables, namespace: str) -> None:
        self._tables = tables
        self._namespace = namespace

    def of(self, request: Request, *, preferred_topology: str) -> Trouble:
        """The first thing that keeps a request from being admitted."""
        found = (
            self.queue(request.queue),
            self.priority_class(request.priority_class),
            self.topology(request.queue, request.required_topology or preferred_topology),
        )
        return next((trouble for trouble in found if trouble[0]), NO_TROUBLE)

    def queue(self, name: str) -> Trouble:
        """What is wrong with a LocalQueue or its ClusterQueue."""
        cluster = self._cluster_queue(name)
        named = cluster.spec.admission_checks_strategy.admission_checks if cluster else ()
        return queue_trouble(
            name,
            namespace=self._namespace,
            local_queue=self._tables.local_queues.get(f"{self._namespace}/{name}"),
            cluster_queue=cluster,
            checks=[check for one in named if (check := self._tables.checks.get(one.name))],
        )

    def priority_class(self, name: str) -> Trouble:
        """What is wrong with a WorkloadPriorityClass."""
        return class_trouble(name, self._tables.classes.get(name))

    def topology(self, queue: str, level: str) -> Trouble:
        """What is wrong with a topology level in a LocalQueue; nothing without a level."""
        cluster = self._cluster_queue(queue) if level else None
        if cluster is None:
            return NO_TROUBLE
        names = [flavor.name for group in cluster.spec.resource_groups for flavor in group.flavors]
        levels = [there for name in self._topologies(names) if (there := self._tables.topologies.get(name))]
        return topology_trouble(level, queue=cluster.metadata.name, flavors=names, topologies=levels)

    def _topologies(self, flavors: list[str]) -> Iterator[str]:
        for name in flavors:
            flavor = self._tables.flavors.get(name)
            if flavor is not None and flavor.spec.topology_name:
                yield flavor.spec.topology_name

    def _cluster_queue(self, name: str) -> ClusterQueue | None:
        local = self._tables.local_queues.get(f"{self._namespace}/{name}")
        return self._tables.cluster_queues.get(local.spec.cluster_queue) if local else None
