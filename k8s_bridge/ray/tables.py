"""Everything that the Ray bridge observes for one WorkloadMixing, joined by the uid of the RayJob."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from api.ray_views import RayCluster, RayJob, Submitter
from api.views import (
    AdmissionCheck,
    ClusterQueue,
    JobSet,
    LocalQueue,
    Object,
    Pod,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from k8s_bridge.core import naming
from k8s_bridge.kube.store import Delta, Table
from k8s_bridge.kube.versions import newer, table_of
from k8s_bridge.ray import names
from k8s_bridge.ray.unit import Key

T = TypeVar("T")

JOB, OWNER, UID, CLUSTER = "job", "owner", "uid", "cluster"
"""Indexes: by the uid of the RayJob; by that of the owning JobSet; by their own; by the shared cluster."""


def _job_uid(obj: Object) -> tuple[str, ...]:
    uid = obj.metadata.labels.get(names.RAY_JOB_UID)
    return (uid,) if uid else ()


def _owners(obj: Object) -> tuple[str, ...]:
    return tuple(owner.uid for owner in obj.metadata.owner_references)


def _uid(obj: Object) -> tuple[str, ...]:
    return (obj.metadata.uid,)


def _jobset_uid(pod: Pod) -> tuple[str, ...]:
    uid = pod.metadata.labels.get(naming.JOBSET_UID)
    return (uid,) if uid else ()


def cluster_of(job: RayJob) -> str:
    """The shared cluster of an inner RayJob; "" when it is none."""
    return job.spec.cluster_selector.get(names.CLUSTER_SELECTOR, "")


def _ray_jobs() -> Table[RayJob]:
    return Table(
        lambda job: job.key,
        indexes={UID: _uid, CLUSTER: lambda job: (cluster_of(job),) if cluster_of(job) else ()},
        newer=newer,
    )


def _jobsets() -> Table[JobSet]:
    return Table(lambda obj: obj.key, indexes={JOB: _job_uid, UID: _uid}, newer=newer)


@dataclass(frozen=True, slots=True)
class Tables:
    """One table per kind."""

    jobs: Table[RayJob] = field(default_factory=_ray_jobs)
    clusters: Table[RayCluster] = field(default_factory=lambda: table_of(RayCluster))
    jobsets: Table[JobSet] = field(default_factory=_jobsets)
    workloads: Table[Workload] = field(default_factory=lambda: table_of(Workload, indexes={OWNER: _owners}))
    workers: Table[Pod] = field(
        default_factory=lambda: table_of(Pod, indexes={OWNER: _jobset_uid, JOB: _job_uid})
    )
    submitters: Table[Submitter] = field(default_factory=lambda: table_of(Submitter, indexes={JOB: _job_uid}))
    local_queues: Table[LocalQueue] = field(default_factory=lambda: table_of(LocalQueue))
    cluster_queues: Table[ClusterQueue] = field(default_factory=lambda: table_of(ClusterQueue))
    checks: Table[AdmissionCheck] = field(default_factory=lambda: table_of(AdmissionCheck))
    flavors: Table[ResourceFlavor] = field(default_factory=lambda: table_of(ResourceFlavor))
    topologies: Table[Topology] = field(default_factory=lambda: table_of(Topology))
    classes: Table[WorkloadPriorityClass] = field(default_factory=lambda: table_of(WorkloadPriorityClass))

    def keys(self) -> set[Key]:
        """The keys of all units that any source knows of."""
        jobs = {key_of(job) for job in self.jobs.values()}
        return jobs | {key for jobset in self.jobsets.values() if (key := made_for(jobset)) is not None}

    def subscribe(self, touched: Callable[[Key], None]) -> None:
        """Call `touched` with the key of each unit that a change concerns."""
        self.jobs.subscribe(lambda delta: _each(delta, lambda job: (key_of(job),), touched))
        self.jobsets.subscribe(lambda delta: _each(delta, self._jobset_units, touched))
        self.workers.subscribe(lambda delta: _each(delta, self._labelled_units, touched))
        self.submitters.subscribe(lambda delta: _each(delta, self._labelled_units, touched))
        self.workloads.subscribe(lambda delta: _each(delta, self._workload_units, touched))
        self.clusters.subscribe(lambda delta: _each(delta, self._cluster_units, touched))

    def _jobset_units(self, jobset: JobSet) -> Iterable[Key]:
        key = made_for(jobset)
        return () if key is None else (key,)

    def _labelled_units(self, obj: Object) -> Iterator[Key]:
        for uid in _job_uid(obj):
            yield from (key_of(job) for job in self.jobs.by(UID, uid))

    def _workload_units(self, workload: Workload) -> Iterator[Key]:
        for uid in _owners(workload):
            for jobset in self.jobsets.by(UID, uid):
                yield from self._jobset_units(jobset)

    def _cluster_units(self, cluster: RayCluster) -> Iterable[Key]:
        return [key_of(job) for job in self.jobs.by(CLUSTER, cluster.metadata.name)]


def key_of(job: RayJob) -> Key:
    """What the unit of a RayJob is called."""
    meta = job.metadata
    return Key(meta.namespace, meta.name, meta.uid)


def made_for(jobset: JobSet) -> Key | None:
    """The unit that a JobSet was made for, by what is written on it; None when nothing is."""
    meta = jobset.metadata
    name, uid = meta.annotations.get(names.RAY_JOB), meta.labels.get(names.RAY_JOB_UID)
    return Key(meta.namespace, name, uid) if name and uid else None


def _each(delta: Delta[T], units: Callable[[T], Iterable[Key]], touched: Callable[[Key], None]) -> None:
    for row in (delta.old, delta.new):
        if row is not None:
            for key in units(row):
                touched(key)
