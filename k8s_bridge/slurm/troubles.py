"""What is wrong with the Kueue objects that a route of jobs rests on, as the tables have them now."""

from __future__ import annotations

from api.views import ClusterQueue, LocalQueue
from k8s_bridge.core.preflight import NO_TROUBLE, Trouble, class_trouble, queue_trouble, topology_trouble
from k8s_bridge.slurm.policy import Policies, Route
from k8s_bridge.slurm.tables import Tables


class Troubles:
    """Looks at queues, classes and topologies of one WorkloadMixing."""

    def __init__(self, tables: Tables, policies: Policies) -> None:
        self._tables = tables
        self._policies = policies

    def of(self, route: Route) -> Trouble:
        """The first thing that is wrong with the route's queue, class or topology."""
        looks = (self.of_queue, self.of_class, self.of_topology)
        return next((found for look in looks if (found := look(route))[0]), NO_TROUBLE)

    def of_queue(self, route: Route) -> Trouble:
        """What is wrong with the route's LocalQueue or its ClusterQueue."""
        local, cluster = self._queues(route)
        named = cluster.spec.admission_checks_strategy.admission_checks if cluster else ()
        return queue_trouble(
            route.queue,
            namespace=self._policies.mixing.metadata.namespace,
            local_queue=local,
            cluster_queue=cluster,
            checks=[check for one in named if (check := self._tables.checks.get(one.name))],
        )

    def of_class(self, route: Route) -> Trouble:
        """What is wrong with the route's WorkloadPriorityClass."""
        return class_trouble(route.priority_class, self._tables.classes.get(route.priority_class))

    def of_topology(self, route: Route) -> Trouble:
        """What is wrong with the topology levels that the route's jobs are placed by."""
        levels = self._policies.topology_levels(route)
        _, cluster = self._queues(route) if levels else (None, None)
        if cluster is None:
            return NO_TROUBLE
        tables = self._tables
        names = [flavor.name for group in cluster.spec.resource_groups for flavor in group.flavors]
        flavors = [flavor for name in names if (flavor := tables.flavors.get(name))]
        there = [found for flavor in flavors if (found := tables.topologies.get(flavor.spec.topology_name))]
        troubles = (
            topology_trouble(level, queue=cluster.metadata.name, flavors=names, topologies=there)
            for level in levels
        )
        return next((trouble for trouble in troubles if trouble[0]), NO_TROUBLE)

    def _queues(self, route: Route) -> tuple[LocalQueue | None, ClusterQueue | None]:
        namespace = self._policies.mixing.metadata.namespace
        local = self._tables.local_queues.get(f"{namespace}/{route.queue}")
        return local, self._tables.cluster_queues.get(local.spec.cluster_queue) if local else None
