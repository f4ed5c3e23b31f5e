"""What the Slurm bridge says of itself at one moment, from what is observed and what was decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from api.views import ClusterQueue, LocalQueue
from k8s_bridge.core import quantity
from k8s_bridge.runtime.loop import Loop
from k8s_bridge.runtime.queue import Queue as Work
from k8s_bridge.runtime.reading import NOT_RUNNING, Amount, Queue, Reading, UnitGroup
from k8s_bridge.slurm.census import Group
from k8s_bridge.slurm.controller import SlurmController
from k8s_bridge.slurm.model import Ping
from k8s_bridge.slurm.observe import Observer
from k8s_bridge.slurm.policy import Policies, Route
from k8s_bridge.slurm.poller import Poller
from k8s_bridge.slurm.report import counts
from k8s_bridge.slurm.slurm_health import HealthWatch
from k8s_bridge.slurm.tables import UNIT, Tables
from k8s_bridge.slurm.unit import Key


class Readings:
    """Reads one session; called at each scrape and for each look at the status page."""

    def __init__(  # noqa: PLR0913  # what is read, by keyword
        self,
        *,
        tables: Tables,
        observer: Observer,
        controller: SlurmController,
        queue: Work[Key],
        loop: Loop[Key, Any],
        poller: Poller,
        health: HealthWatch,
        blocked: Callable[[], str],
        clock: Callable[[], float],
    ) -> None:
        self._tables = tables
        self._observer = observer
        self._controller = controller
        self._queue = queue
        self._loop = loop
        self._poller = poller
        self._health = health
        self._blocked = blocked
        self._clock = clock
        self._policies: Policies | None = None

    def configure(self, policies: Policies) -> None:
        """Read by another spec from now on."""
        self._policies = policies

    def __call__(self) -> Reading:
        """As of now."""
        if self._policies is None:
            return NOT_RUNNING
        health, groups = self._health.now(), self._controller.census.groups()
        return Reading(
            units=_units(groups, self._policies),
            held_jobs=counts(groups, nodes={})["counts"].get("pending", 0),
            oldest=_oldest(self._controller, self._observer, now=self._clock()),
            slurm_jobs=len(self._tables.jobs),
            slurm_nodes=sum(1 for _ in _keys(self._tables)),
            ghost_nodes=sum(1 for key in _keys(self._tables) if not self._tables.jobsets.by(UNIT, str(key))),
            ready=len(self._queue),
            delayed=self._queue.delayed,
            active=self._queue.active,
            blocked=self._blocked(),
            wedged=self._loop.wedged(),
            guarded=self._controller.guarded,
            last_answer=health.last_good,
            token_expires=health.token_expires,
            quarantined={"slurm": self._poller.malformed},
            queues=tuple(_queues(self._tables, self._policies, self._observer)),
            info=_info(self._health.ping),
        )


def _keys(tables: Tables) -> Iterator[Key]:
    """What each registered node of ours was made for."""
    return (key for node in tables.nodes.values() if (key := tables.node_unit(node)) is not None)


def _units(groups: Mapping[Group, int], policies: Policies) -> Mapping[UnitGroup, int]:
    """Partitions that are not managed are not told apart: users may write what they like there."""
    managed = {mapping.partition_name for mapping in policies.mixing.spec.partition_mappings}
    units: Counter[UnitGroup] = Counter()
    for group, count in groups.items():
        partition = group.partition if group.partition in managed else ""
        units[UnitGroup(state=group.state.value, partition=partition, queue=group.queue)] += count
    return units


def _oldest(controller: SlurmController, observer: Observer, *, now: float) -> Mapping[str, float]:
    since: dict[str, float] = {}
    for key, said in controller.said.items():
        seen = observer.seen.get(key)
        began = seen.since if seen is not None and seen.state is said.state else said.since
        since[said.state.value] = min(began, since.get(said.state.value, began))
    return {state: max(0.0, now - began) for state, began in since.items()}


def _info(ping: Ping | None) -> Mapping[str, str]:
    """What Slurm said of itself."""
    if ping is None:
        return {}
    return {
        "slurm_version": ping.release,
        "slurm_api_version": ping.api_version,
        "slurm_cluster": ping.cluster,
    }


def _queues(tables: Tables, policies: Policies, observer: Observer) -> Iterator[Queue]:
    """The LocalQueues that jobs are sent to, by name."""
    namespace = policies.mixing.metadata.namespace
    routes = {
        queue: Route(mapping=mapping, queue=queue, priority_class="")
        for mapping in policies.mixing.spec.partition_mappings
        for queue in policies.routes()[mapping.partition_name][0]
    }
    for name, route in sorted(routes.items()):
        yield _queue(name, namespace, tables, trouble=observer.troubles.of_queue(route)[1])


def _queue(name: str, namespace: str, tables: Tables, *, trouble: str) -> Queue:
    local = tables.local_queues.get(f"{namespace}/{name}")
    if local is None:
        return Queue(name=name, trouble=trouble)
    cluster = tables.cluster_queues.get(local.spec.cluster_queue)
    return Queue(
        name=name,
        cluster_queue=local.spec.cluster_queue,
        pending=local.status.pending_workloads,
        admitted=local.status.admitted_workloads,
        trouble=trouble,
        amounts=tuple(_amounts(local, cluster)) if cluster else (),
    )


def _amounts(local: LocalQueue, cluster: ClusterQueue) -> Iterator[Amount]:
    used, by_all = _reserved(local), _reserved(cluster)
    for group in cluster.spec.resource_groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                key = flavor.name, quota.name
                yield Amount(
                    flavor=flavor.name,
                    resource=quota.name,
                    used=used.get(key, 0.0),
                    used_by_all=by_all.get(key, 0.0),
                    nominal=quantity.number(quota.nominal_quota),
                )


def _reserved(queue: LocalQueue | ClusterQueue) -> Mapping[tuple[str, str], float]:
    return {
        (flavor.name, usage.name): quantity.number(usage.total)
        for flavor in queue.status.flavors_reservation
        for usage in flavor.resources
    }
