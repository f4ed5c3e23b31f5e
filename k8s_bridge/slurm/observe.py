"""Joins the tables into units, and keeps the little memory that is not in the cluster.

Memory holds only first-seen times, back-off and caches of pure results: a restart needs nothing but a sync.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from api.views import JobSet, Workload
from k8s_bridge.slurm.eligibility import NOTHING
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.neighbours import Neighbours
from k8s_bridge.slurm.policy import Policies, Route, Trouble
from k8s_bridge.slurm.preflight import class_trouble, queue_trouble
from k8s_bridge.slurm.tables import JOB, OWNER, Tables
from k8s_bridge.slurm.turns import Turns
from k8s_bridge.slurm.unit import Deletion, Denial, Partition, Presence, Seen, State, Unit

Planner = Callable[[Job, Route], tuple[Layout | Refusal, str]]
"""(job, route) -> (layout or refusal, digest of the layout)."""

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds between two JobSets of a job whose JobSets fail."""
FIRST_DENIED_PAUSE, DENIED_PAUSE = 2.0, 60.0
"""Seconds between two attempts to create a JobSet that is refused: first pause, doubled up to the longest.

Short at first: an API server that has just started forbids everything until it has read the roles.
"""
_DOUBLINGS = 10

_WAITING = frozenset({State.HELD, State.TURN})
_IN_FLIGHT = frozenset({State.QUEUED, State.PARKED, State.RESIZED, State.FAILED})


class Observer:
    """Reads units off the tables of one WorkloadMixing."""

    def __init__(self, tables: Tables, *, policies: Policies, planner: Planner) -> None:
        self._tables = tables
        self._policies = policies
        self._planner = planner
        self._plans: dict[int, tuple[Job, Route, Layout | Refusal, str]] = {}
        self._gone: set[int] = set()
        self._ended: set[int] = set()
        self._denied: dict[int, Denial] = {}
        self.seen: dict[int, Seen] = {}
        self.neighbours = Neighbours(tables)
        self.turns = Turns()
        self.deletion = Deletion.ALLOWED

    def configure(self, policies: Policies, planner: Planner) -> None:
        """Go on with another spec."""
        self._policies, self._planner = policies, planner
        self._plans.clear()

    def unit(self, job_id: int) -> Unit:
        """Everything about one job id, now."""
        tables, key = self._tables, str(job_id)
        job = tables.jobs.get(key)
        route = self._policies.route(job) if job else None
        jobset = next(iter(tables.jobsets.by(JOB, key)), None)
        layout, shape = self._plan(job, route) if job and route else (None, "")
        return Unit(
            job_id=job_id,
            presence=self.presence(job_id),
            job=job,
            jobset=jobset,
            workload=self._workload(jobset),
            pods=tables.pods.by(OWNER, jobset.metadata.uid) if jobset else (),
            nodes=tables.nodes.by(JOB, key),
            partition=self._partition(route) if route else None,
            layout=layout,
            shape=shape,
            surroundings=self.neighbours.of(job) if job and job.pending else NOTHING,
            wanted_priority=self._policies.wanted_priority(job) if job else None,
            may_create=self.turns.may(job_id),
            deletion=Deletion.ALLOWED if job_id in self._ended else self.deletion,
            denied=self._denied.get(job_id),
            seen=self.seen.get(job_id),
        )

    def remember(self, unit: Unit, state: State, *, now: float) -> None:
        """Note the state that a unit is in, and since when."""
        if state in {State.DONE, State.FOREIGN} and unit.jobset is None:
            self.forget(unit.job_id)
            return
        seen = unit.seen
        if seen is None:
            seen = Seen(state=state, since=_began(unit, state, now))
        elif seen.state is not state:
            seen = replace(seen, state=state, since=now)
            seen = _failed_again(seen, now) if state is State.FAILED else seen
        self.seen[unit.job_id] = seen

    def spoke(self, job_id: int, now: float) -> None:
        """A text was written to the job."""
        if job_id in self.seen:
            self.seen[job_id] = replace(self.seen[job_id], text_at=now)

    def forget(self, job_id: int) -> None:
        """Nothing of the unit is left."""
        for memory in (self.seen, self._plans, self._denied):
            memory.pop(job_id, None)
        for noted in (self._gone, self._ended):
            noted.discard(job_id)
        self.turns.leave(job_id)

    def gone(self, job_id: int, *, last: Job | None) -> None:
        """Slurm said "invalid job id". `last` is the record before: one that was over is purged in time."""
        self._gone.add(job_id)
        if last is not None and last.terminal:
            self._ended.add(job_id)

    def vanished(self, job_id: int) -> bool:
        """Whether Slurm forgot a job that was not over when last seen (or was never seen)."""
        return self.presence(job_id) is Presence.GONE and job_id not in self._ended

    def denied(self, job_id: int, reason: str, text: str, *, now: float) -> None:
        """The job's JobSet was refused, for a reason that hardly ever passes by itself."""
        before = self._denied.get(job_id)
        attempts = before.attempts + 1 if before else 1
        pause = min(FIRST_DENIED_PAUSE * 2 ** min(attempts - 1, _DOUBLINGS), DENIED_PAUSE)
        self._denied[job_id] = Denial(reason=reason, text=text, until=now + pause, attempts=attempts)

    def created(self, job_id: int) -> None:
        """The job's JobSet was created."""
        self._denied.pop(job_id, None)

    def trouble(self, route: Route) -> Trouble:
        """What is wrong with the route's queue or class."""
        found = self.queue_trouble(route)
        return found if found[0] else self.class_trouble(route)

    def queue_trouble(self, route: Route) -> Trouble:
        """What is wrong with the route's LocalQueue or its ClusterQueue."""
        tables, namespace = self._tables, self._policies.mixing.metadata.namespace
        local = tables.local_queues.get(f"{namespace}/{route.queue}")
        cluster = tables.cluster_queues.get(local.spec.cluster_queue) if local else None
        return queue_trouble(route.queue, namespace=namespace, local_queue=local, cluster_queue=cluster)

    def class_trouble(self, route: Route) -> Trouble:
        """What is wrong with the route's WorkloadPriorityClass."""
        return class_trouble(route.priority_class, self._tables.classes.get(route.priority_class))

    def _partition(self, route: Route) -> Partition:
        return self._policies.partition(
            route, class_priority=self._class_priority(route), trouble=self.trouble(route)
        )

    def _class_priority(self, route: Route) -> int:
        found = self._tables.classes.get(route.priority_class)
        return found.value if found else 0

    def _plan(self, job: Job, route: Route) -> tuple[Layout | Refusal | None, str]:
        if not job.pending:
            return None, ""
        known = self._plans.get(job.job_id)
        if known is None or known[0] is not job or known[1] != route:
            known = (job, route, *self._planner(job, route))
            self._plans[job.job_id] = known
        return known[2], known[3]

    def _workload(self, jobset: JobSet | None) -> Workload | None:
        if jobset is None:
            return None
        found = self._tables.workloads.by(OWNER, jobset.metadata.uid)
        alive = [w for w in found if w.metadata.deletion_timestamp is None]
        return max(alive or found, key=_version, default=None)

    def presence(self, job_id: int) -> Presence:
        """What Slurm last said of the job id."""
        if str(job_id) in self._tables.jobs:
            self._gone.discard(job_id)
            self._ended.discard(job_id)
            return Presence.PRESENT
        return Presence.GONE if job_id in self._gone else Presence.UNKNOWN

    def place(self, job_id: int) -> None:
        """Give the unit its place in the order of asking, if it may have one; `settle` ends that."""
        job = self._tables.jobs.get(str(job_id))
        route = self._policies.route(job) if job and job.pending else None
        if job is None or route is None or self._tables.jobsets.by(JOB, str(job_id)):
            return
        wanted = self._policies.wanted_priority(job)
        priority = self._class_priority(route) if wanted is None else wanted
        rank = (-priority, job.nice, job.submit_time, job.job_id)
        self.turns.wait(job.job_id, queue=route.queue, rank=rank)

    def settle(self, unit: Unit, state: State) -> None:
        """Take the unit's place in the order of asking from its state."""
        if state in _WAITING and unit.jobset is None:
            return
        if state in _IN_FLIGHT and unit.jobset is not None and unit.partition is not None:
            self.turns.fly(unit.job_id, queue=unit.partition.queue)
        else:
            self.turns.leave(unit.job_id)


def _version(workload: Workload) -> int:
    version = workload.metadata.resource_version
    return int(version) if version.isdecimal() else 0


def _began(unit: Unit, state: State, now: float) -> float:
    """Since when, from the cluster where it tells: a restart must not start the clock of a timeout again."""
    if state is State.ADMITTED and unit.workload is not None:
        for found in unit.workload.status.conditions:
            if found.type == "Admitted" and found.last_transition_time:
                return min(now, found.last_transition_time.timestamp())
    if state is State.HELD and unit.job is not None:
        return min(now, float(unit.job.submit_time)) or now
    return now


def _failed_again(seen: Seen, now: float) -> Seen:
    """Each JobSet that fails makes the next one wait longer."""
    pause = min(FIRST_PAUSE * 2.0 ** min(seen.failures, 6), LONGEST_PAUSE)
    return replace(seen, failures=seen.failures + 1, not_before=now + pause)
