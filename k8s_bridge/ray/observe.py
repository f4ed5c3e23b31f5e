"""Joins the tables into units, and keeps the little memory that is not in the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.ray_views import RayCluster, RayJob, RayJobSpec
from api.views import JobSet, Workload
from k8s_bridge.core.errors import Conflict
from k8s_bridge.core.preflight import NO_TROUBLE, Trouble
from k8s_bridge.core.rendering import TemplateError
from k8s_bridge.ray import names
from k8s_bridge.ray.request import Refusal, Request
from k8s_bridge.ray.setup import Setup
from k8s_bridge.ray.tables import JOB, OWNER, UID, Tables, cluster_of
from k8s_bridge.ray.troubles import Troubles
from k8s_bridge.ray.unit import Denial, Key, Requeue, Seen, State, Unit
from k8s_bridge.ray.workers import render_workers, shape_of

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds between two attempts to create a JobSet that is refused: doubled up to the longest."""
_DOUBLINGS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A request and what workers would be made from, with what both were read off."""

    asked: tuple[str | None, ...]
    spec: RayJobSpec
    cluster: dict[str, Any] | None
    request: Request | Refusal
    shape: str


class Observer:
    """Reads units off the tables of one WorkloadMixing."""

    def __init__(self, tables: Tables, setup: Setup) -> None:
        self._tables = tables
        self._setup = setup
        self._plans: dict[str, _Plan] = {}
        self._denied: dict[Key, Denial] = {}
        self.troubles = Troubles(tables, setup.namespace)
        self.requeue = Requeue.RETRYING
        self.seen: dict[Key, Seen] = {}

    def configure(self, setup: Setup) -> None:
        """Go on with another spec."""
        self._setup = setup
        self._plans.clear()

    def unit(self, key: Key) -> Unit:
        """Everything about one unit, now."""
        tables = self._tables
        job = next(iter(tables.jobs.by(UID, key.uid)), None)
        jobset = next(iter(tables.jobsets.by(JOB, key.uid)), None)
        cluster = self.cluster(job) if job else None
        managed = job is not None and self._setup.manages(cluster_of(job))
        plan = self._plan(job, cluster) if job and managed else None
        return Unit(
            key=key,
            job=job,
            managed=managed,
            elsewhere=self._setup.elsewhere.get(cluster_of(job), "") if job else "",
            cluster=cluster,
            jobset=jobset,
            workload=self._workload(jobset),
            workers=tables.workers.by(OWNER, jobset.metadata.uid) if jobset else (),
            submitters=tables.submitters.by(JOB, key.uid),
            request=plan.request if plan else None,
            shape=plan.shape if plan else "",
            trouble=self._trouble(plan.request) if plan and jobset else NO_TROUBLE,
            policy=self._setup.policy(requeue=self.requeue),
            denied=self._denied.get(key),
            seen=self.seen.get(key),
        )

    def cluster(self, job: RayJob) -> RayCluster | None:
        """The shared cluster of a job, if it is there."""
        return self._tables.clusters.get(f"{job.metadata.namespace}/{cluster_of(job)}")

    def manifest(self, key: Key, *, token: str) -> dict[str, Any]:
        """The JobSet of a unit from what is in the tables now. Raises Terminal or Conflict."""
        unit = self.unit(key)
        job, cluster, request = unit.job, unit.cluster, unit.request
        like = self._setup.like(cluster) if cluster and unit.managed else None
        if job is None or like is None or not isinstance(request, Request):
            raise Conflict(f"RayJob {key} is gone, or asks for nothing that can be given")
        owner = self._setup.owner(job, request, like.cluster)
        return render_workers(job, request, like=like, owner=owner, token=token)

    def remember(self, unit: Unit, state: State, *, now: float) -> None:
        """Note the state that a unit is in, and since when; forget one of which nothing is left."""
        if state is State.DONE and unit.job is None:
            self.forget(unit.key)
        elif unit.seen is None or unit.seen.state is not state:
            self.seen[unit.key] = Seen(state=state, since=_began(unit, state, now))

    def forget(self, key: Key) -> None:
        """Nothing of the unit is left."""
        self.seen.pop(key, None)
        self._denied.pop(key, None)
        self._plans.pop(key.uid, None)

    def created(self, key: Key) -> None:
        """The unit's JobSet was created."""
        self._denied.pop(key, None)

    def denied(self, key: Key, reason: str, text: str, *, now: float) -> None:
        """The unit's JobSet was refused, for a reason that hardly ever passes by itself."""
        before = self._denied.get(key)
        attempts = before.attempts + 1 if before else 1
        pause = min(FIRST_PAUSE * 2 ** min(attempts - 1, _DOUBLINGS), LONGEST_PAUSE)
        self._denied[key] = Denial(reason=reason, text=text, until=now + pause, attempts=attempts)

    def _plan(self, job: RayJob, cluster: RayCluster | None) -> _Plan:
        asked = tuple(job.metadata.annotations.get(name) for name in (*names.ASKED, names.ACCEPTED))
        spec = cluster.spec if cluster else None
        known = self._plans.get(job.metadata.uid)
        if known and (known.asked, known.spec, known.cluster) == (asked, job.spec, spec):
            return known
        request = self._setup.request(job)
        made = _Plan(
            asked=asked,
            spec=job.spec,
            cluster=spec,
            request=request,
            shape=self._shape(job, request, cluster),
        )
        self._plans[job.metadata.uid] = made
        return made

    def _shape(self, job: RayJob, request: Request | Refusal, cluster: RayCluster | None) -> str:
        like = self._setup.like(cluster) if cluster else None
        if like is None or isinstance(request, Refusal):
            return ""
        try:
            owner = self._setup.owner(job, request, like.cluster)
        except TemplateError as error:
            return f"unrenderable: {error}"  # it is asked for, and refused with this reason
        return shape_of(request, like=like, owner=owner)

    def _trouble(self, request: Request | Refusal) -> Trouble:
        if isinstance(request, Refusal):
            return NO_TROUBLE
        preferred = self._setup.spec.worker.preferred_topology
        return self.troubles.of(request, preferred_topology=preferred)

    def _workload(self, jobset: JobSet | None) -> Workload | None:
        if jobset is None:
            return None
        found = self._tables.workloads.by(OWNER, jobset.metadata.uid)
        alive = [one for one in found if one.metadata.deletion_timestamp is None]
        return max(alive or found, key=_version, default=None)


def _version(workload: Workload) -> int:
    version = workload.metadata.resource_version
    return int(version) if version.isdecimal() else 0


def _began(unit: Unit, state: State, now: float) -> float:
    """Since when, from the cluster where it tells: a restart must not start a timeout again."""
    if state is State.ADMITTED and unit.workload is not None:
        for found in unit.workload.status.conditions:
            if found.type == "Admitted" and found.last_transition_time:
                return min(now, found.last_transition_time.timestamp())
    return now
