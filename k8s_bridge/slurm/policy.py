"""Which policy applies to a job: partitions and queue rules, compiled once per revision of the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from api.v1alpha1.partition import PartitionMapping, QueueRule
from api.v1alpha1.policy import DeletionPolicy
from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core.preflight import NO_TROUBLE, Trouble
from k8s_bridge.slurm import priority
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.unit import Partition

__all__ = ["NOWHERE", "NO_TROUBLE", "Policies", "Route", "Trouble"]

NOWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where one job goes. Routes of one revision of the spec are equal when queue and class are."""

    mapping: PartitionMapping = field(compare=False)
    queue: str
    priority_class: str


class Policies:
    """Looks a job's route and limits up. Pure; made anew for each spec."""

    def __init__(self, mixing: WorkloadMixing, *, elsewhere: Mapping[str, str] = NOWHERE) -> None:
        """`elsewhere`: the partitions of the same cluster that other mixings serve, each with who does."""
        self.mixing = mixing
        self._elsewhere = elsewhere
        self._mappings = {m.partition_name: m for m in mixing.spec.partition_mappings}

    def route(self, job: Job) -> Route | None:
        """The first managed partition of the job's list, with the first queue rule that matches.

        None when nobody manages one of them, or when the first that is managed is another mixing's.
        """
        managed = (p for p in job.partition.split(",") if p in self._mappings or p in self._elsewhere)
        first = next(managed, "")
        if first in self._elsewhere or not first or self.leaving:
            return None
        mapping = self._mappings[first]
        rule = next((r for r in mapping.queue_rules if _matches(r, job)), None)
        queue = (rule and rule.local_queue) or mapping.local_queue or self.mixing.spec.local_queue
        priority_class = (rule and rule.workload_priority_class) or mapping.workload_priority_class
        return Route(mapping=mapping, queue=queue, priority_class=priority_class)

    def partition(self, route: Route, *, class_priority: int = 0, trouble: Trouble = NO_TROUBLE) -> Partition:
        """What the state machine needs to know of the route."""
        spec = self.mixing.spec
        return Partition(
            name=route.mapping.partition_name,
            queue=route.queue,
            priority_class=route.priority_class,
            provision_timeout=spec.provision_timeout.total_seconds(),
            start_timeout=spec.start_timeout.total_seconds(),
            requeue_limit=spec.requeue_limit,
            retention=spec.failed_job_set_retention.total_seconds(),
            adopt_unheld=spec.adopt_unheld,
            drain_first=spec.drain_on_preemption,
            cancel_orphans=spec.cancel_orphaned_jobs,
            orphan_grace=spec.orphan_grace_ticks * spec.poll_interval.total_seconds(),
            refused=spec.refused_job_policy,
            no_requeue=spec.no_requeue_policy,
            priority_sync=spec.enable_priority_sync,
            class_priority=class_priority,
            trouble=trouble,
        )

    def wanted_priority(self, job: Job) -> int | None:
        """What the job's owner asks for in its comment, as far as the owner may; None without such a wish."""
        spec = self.mixing.spec
        found = priority.asked(job.comment) if spec.enable_priority_sync else None
        return None if found is None else priority.capped(found, cap=spec.max_user_priority)

    def topology_levels(self, route: Route) -> tuple[str, ...]:
        """The node labels of the topology levels that the route's jobs may ask for."""
        topology = route.mapping.topology or self.mixing.spec.topology
        return tuple(filter(None, (topology.required_level, topology.preferred_level)))

    @property
    def leaving(self) -> bool:
        """The mixing is being deleted, and what it serves ends first: nothing new is taken."""
        going = self.mixing.metadata.deletion_timestamp is not None
        return going and self.mixing.spec.deletion_policy is DeletionPolicy.DRAIN

    def conflict(self) -> Trouble:
        """Which of our partitions another mixing serves."""
        lost = [f"{p} is served by {by}" for p, by in sorted(self._elsewhere.items()) if p in self._mappings]
        if not lost:
            return NO_TROUBLE
        text = "; ".join(lost)
        return "PartitionTaken", f"{text}: of two WorkloadMixings the older one serves a partition"

    def without_effect(self) -> tuple[str, ...]:
        """What is set and does nothing as the rest of the spec is: a sentence each."""
        spec = self.mixing.spec
        if spec.max_user_priority and not spec.enable_priority_sync:
            return ("maxUserPriority has no effect without enablePrioritySync",)
        return ()

    def limits(self) -> Mapping[str, int]:
        """Per queue how many JobSets may wait for quota: the largest of the partitions that feed it."""
        found: dict[str, int] = {}
        for mapping in self.mixing.spec.partition_mappings:
            for queue in self.routes()[mapping.partition_name][0]:
                found[queue] = max(found.get(queue, 0), mapping.max_in_flight)
        return found

    def routes(self) -> Mapping[str, tuple[set[str], set[str]]]:
        """Per partition the queues and priority classes that its jobs may be sent to (for preflight)."""
        found: dict[str, tuple[set[str], set[str]]] = {}
        for mapping in self.mixing.spec.partition_mappings:
            queues = {mapping.local_queue or self.mixing.spec.local_queue}
            classes = {mapping.workload_priority_class}
            queues |= {r.local_queue for r in mapping.queue_rules if r.local_queue}
            classes |= {r.workload_priority_class for r in mapping.queue_rules if r.workload_priority_class}
            found[mapping.partition_name] = (queues, classes)
        return found


def _matches(rule: QueueRule, job: Job) -> bool:
    asked = (
        (rule.account, job.account),
        (rule.qos, job.qos),
        (rule.user, job.user_name),
        (rule.wckey, job.wckey),
    )
    return all(not want or want == have for want, have in asked)
