"""Joins the tables into units, and keeps the little memory that is not in the cluster.

Memory holds only first-seen times, back-off and caches of pure results: a restart needs nothing but a sync.
"""

from __future__ import annotations

from dataclasses import replace

from api.views import JobSet, Workload
from k8s_bridge.slurm import het, parking
from k8s_bridge.slurm import predicates as is_
from k8s_bridge.slurm.arrays.facts import ArrayFacts
from k8s_bridge.slurm.arrays.records import speaker
from k8s_bridge.slurm.denials import Denials
from k8s_bridge.slurm.eligibility import NOTHING, limit_of
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.neighbours import Neighbours
from k8s_bridge.slurm.plans import Planner, Plans
from k8s_bridge.slurm.policy import Policies, Route
from k8s_bridge.slurm.relief import Relief
from k8s_bridge.slurm.seen import began, failed_again, of_slot, paused, uid_of
from k8s_bridge.slurm.tables import COMPONENTS, FAILED, MEMBERS, OWNER, UNIT, Tables
from k8s_bridge.slurm.troubles import Troubles
from k8s_bridge.slurm.turns import Turns
from k8s_bridge.slurm.unit import (
    Array,
    Deletion,
    Key,
    Partition,
    Presence,
    Seen,
    Slot,
    State,
    Unit,
    job_of,
)

_WAITING = frozenset({State.HELD, State.TURN})
_IN_FLIGHT = frozenset({State.QUEUED, State.RESIZED, State.FAILED})


class Observer:
    """Reads units off the tables of one WorkloadMixing."""

    def __init__(self, tables: Tables, *, policies: Policies, planner: Planner) -> None:
        self._tables = tables
        self._policies = policies
        self._plans = Plans(planner)
        self._gone: set[int] = set()
        self._ended: set[int] = set()
        self._denials = Denials()
        self.seen: dict[Key, Seen] = {}
        self.neighbours = Neighbours(tables)
        self.troubles = Troubles(tables, policies)
        self.turns = Turns()
        self.relief = Relief()
        self.deletion = Deletion.ALLOWED

    def configure(self, policies: Policies, planner: Planner) -> None:
        """Go on with another spec."""
        self._policies, self._plans = policies, Plans(planner)
        self.troubles = Troubles(self._tables, policies)

    def unit(self, key: Key) -> Unit:
        """Everything about one unit, now."""
        if isinstance(key, int):
            whole = self._whole(key)
            return replace(whole, array=self._array(whole)) if self._is_array(whole) else whole
        whole = self.unit(key.job_id)
        return replace(self._slot(key, whole), whole=whole if whole.array else None)

    def _is_array(self, whole: Unit) -> bool:
        if whole.job is None:
            return bool(self._tables.slots_of(whole.job_id))
        return whole.job.array_job_id == whole.job_id

    def _array(self, whole: Unit) -> Array:
        slots = sorted(self._tables.slots_of(whole.job_id))
        return Array(
            records=self._tables.jobs.by(MEMBERS, str(whole.job_id)),
            slots=tuple(self._slot(slot, whole) for slot in slots),
            failed=any(True for _ in self._tables.jobs.each(FAILED, str(whole.job_id))),
        )

    def _slot(self, key: Slot, whole: Unit) -> Unit:
        capacity = self._capacity(key)
        return replace(
            capacity,
            cordoned=self._tables.cordoned(capacity.pods),
            presence=whole.presence,
            job=whole.job,
            partition=whole.partition,
            wanted_priority=whole.wanted_priority,
            deletion=whole.deletion,
            seen=of_slot(self.seen.get(key), capacity.jobset),
        )

    def _capacity(self, key: Key) -> Unit:
        """What there is in Kubernetes, and Slurm's nodes."""
        tables, text = self._tables, str(key)
        jobset = next(iter(tables.jobsets.by(UNIT, text)), None)
        return Unit(
            job_id=job_of(key),
            slot=key.number if isinstance(key, Slot) else None,
            jobset=jobset,
            workload=self._workload(jobset),
            pods=tables.pods.by(OWNER, jobset.metadata.uid) if jobset else (),
            nodes=tables.nodes.by(UNIT, text),
            retry=self.relief.retry(key),
        )

    def speaker(self, job_id: int) -> Job | None:
        """The record that says what the job needs, or each task of an array."""
        own = self._tables.jobs.get(str(job_id))
        return speaker(own, self._tables.jobs.by(MEMBERS, str(job_id))) if own else None

    def components(self, job_id: int) -> tuple[Job, ...]:
        """The records of a heterogeneous job, in order; none for others, and until all of it is known."""
        found = sorted(self._tables.jobs.by(COMPONENTS, str(job_id)), key=_offset)
        return tuple(found) if found and found[0].job_id == job_id else ()

    def _whole(self, job_id: int) -> Unit:
        parts = self.components(job_id)
        job = het.whole(parts) if parts else self._tables.jobs.get(str(job_id))
        route = self._policies.route(job) if job else None
        layout, shape = self._plan_whole(job_id, parts, route) if route else (None, "")
        return replace(
            self._capacity(job_id),
            presence=self.presence(job_id),
            job=job,
            partition=self._partition(route) if route else None,
            components=parts,
            layout=layout,
            shape=shape,
            surroundings=self.neighbours.of(job) if job and job.pending else NOTHING,
            wanted_priority=self._policies.wanted_priority(job) if job else None,
            may_create=self.turns.may(job_id),
            deletion=Deletion.ALLOWED if job_id in self._ended else self.deletion,
            denied=self._denials.of(job_id),
            seen=self.seen.get(job_id),
        )

    def remember(self, unit: Unit, state: State, *, now: float) -> None:
        """Note the state that a unit is in, and since when."""
        if state in {State.DONE, State.FOREIGN} and unit.jobset is None:
            self.forget(unit.key)
            return
        seen = unit.seen
        if seen is None:
            seen = Seen(state=state, since=began(unit, state, now), jobset=uid_of(unit.jobset))
        elif seen.state is not state:
            seen = replace(seen, state=state, since=now, jobset=uid_of(unit.jobset))
            seen = failed_again(seen, now) if state is State.FAILED else seen
            if state is State.FAILED and unit.slot is not None and unit.job_id in self.seen:
                self.seen[unit.job_id] = failed_again(self.seen[unit.job_id], now)
        self.seen[unit.key] = seen

    def spoke(self, key: Key, now: float) -> None:
        """A text was written to the job."""
        if key in self.seen:
            self.seen[key] = replace(self.seen[key], text_at=now)

    def forget(self, key: Key) -> None:
        """Nothing of the unit is left."""
        self.seen.pop(key, None)
        self.turns.leave(key)
        self.relief.forget(key)
        if isinstance(key, int):
            self._plans.forget((key, *(one.job_id for one in self.components(key))))
            self._denials.forget(key)
            self.neighbours.asked(key)
            self._gone.discard(key)
            self._ended.discard(key)

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
        self.neighbours.asked(job_id)
        self._denials.add(job_id, reason, text, now=now)

    def created(self, job_id: int) -> None:
        """The job's JobSet was created."""
        self._denials.forget(job_id)
        self.neighbours.asked(job_id)

    def _partition(self, route: Route) -> Partition:
        return self._policies.partition(
            route, class_priority=self._class_priority(route), trouble=self.troubles.of(route)
        )

    def _class_priority(self, route: Route) -> int:
        found = self._tables.classes.get(route.priority_class)
        return found.value if found else 0

    def _plan_whole(self, job_id: int, parts: tuple[Job, ...], route: Route) -> het.Plan:
        if parts:
            return self._plans.joined(parts, route)
        speaks = self.speaker(job_id)
        return self._plans.of(speaks, route) if speaks else (None, "")

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

    def place(self, key: Key, *, now: float) -> None:
        """Give the unit its place in the order of asking, if it may have one; `settle` ends that."""
        job = self.speaker(key) if isinstance(key, int) else None
        route = self._policies.route(job) if job and job.pending else None
        if job is not None and job.array_job_id is not None and not self._joins(key, route, now=now):
            self.turns.leave(key)
            return
        if job is None or route is None or self._tables.jobsets.by(UNIT, str(key)):
            return
        if paused(self.seen.get(key), now):
            self.turns.leave(key)
            return
        wanted = self._policies.wanted_priority(job)
        priority = self._class_priority(route) if wanted is None else wanted
        rank = (-priority, job.nice, job.submit_time, job.job_id)
        self.turns.wait(job.job_id, queue=route.queue, rank=rank, kind=self._kind(job, route))

    def settle(self, unit: Unit, state: State) -> None:
        """Take the unit's place in the order of asking from its state."""
        if state is not State.PARKED:
            self.relief.leave(unit.key)
        if unit.array is not None or (state in _WAITING and unit.jobset is None):
            return
        job = self.speaker(unit.job_id)
        if job is None or unit.jobset is None or unit.partition is None:
            self.turns.leave(unit.key)
        elif state is State.PARKED:
            kind = self._kind(job, self._policies.route(job))
            self.turns.park(unit.key, queue=unit.partition.queue, kind=kind)
            _, _, why = parking.mark(unit.jobset.metadata.annotations)
            self.relief.keep(unit.key, limit_of(why, job))
        elif state in _IN_FLIGHT:
            self.turns.fly(unit.key, queue=unit.partition.queue)
        else:
            self.turns.leave(unit.key)

    def _kind(self, job: Job, route: Route | None) -> int:
        """The same for jobs that limits of Slurm and faults of pods concern alike."""
        return hash((job.user_id, job.account, job.qos, self._plans.of(job, route)[1] if route else ""))

    def _joins(self, key: Key, route: Route | None, *, now: float) -> bool:
        """Whether an array waits to be asked for one slot more; those it has count from their creation on."""
        if route is None:
            return False
        facts = ArrayFacts(self.unit(key), now)
        for slot in facts.kept:
            if not slot.admitted and not is_.parked(slot):
                self.turns.fly(slot.unit.key, queue=route.queue)
        return facts.short


def _offset(component: Job) -> int:
    return component.het_job_offset or 0


def _version(workload: Workload) -> int:
    version = workload.metadata.resource_version
    return int(version) if version.isdecimal() else 0
