"""Everything that is observed for one WorkloadMixing, with the indexes that join both worlds by job id.

Only rows live here. Who fills them (reflectors, poller) and who reads them (observe) are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from api.views import ClusterQueue, JobSet, LocalQueue, Pod, Workload, WorkloadPriorityClass
from k8s_bridge.core import naming
from k8s_bridge.kube.store import Delta, Table
from k8s_bridge.kube.versions import newer
from k8s_bridge.slurm.eligibility.dependency import is_singleton, namesake, predecessors
from k8s_bridge.slurm.model import Job, Node

T = TypeVar("T")

JOB, OWNER, UID = "job", "owner", "uid"
SUCCESSOR, NAMESAKE, SINGLETON, SHARER = "successor", "namesake", "singleton", "sharer"
"""Indexes of jobs: by the id of a job that the dependency names; by name and user, if not over; the same,
if it must be the only one of them; and those that share licenses or reservations, under ""."""


@dataclass(frozen=True, slots=True)
class Tables:
    """One table per kind."""

    node_jobs: Callable[[Node], tuple[str, ...]]
    """The ids of the jobs that a node was made for; none if it is not of this WorkloadMixing."""
    jobs: Table[Job]
    nodes: Table[Node]
    jobsets: Table[JobSet]
    workloads: Table[Workload]
    pods: Table[Pod]
    local_queues: Table[LocalQueue]
    cluster_queues: Table[ClusterQueue]
    classes: Table[WorkloadPriorityClass]

    def keys(self) -> set[int]:
        """The ids of all jobs that any source knows of."""
        found = {job.job_id for job in self.jobs.values()}
        for jobset in self.jobsets.values():
            found.update(_int(_job_label(jobset)))
        return found | self.jobs_with_nodes()

    def subscribe(self, touched: Callable[[int], None]) -> None:
        """Call `touched` with the job id of each unit that a change concerns."""
        self.jobs.subscribe(lambda delta: touched(int(delta.key)))
        self.nodes.subscribe(lambda delta: _each(delta, lambda n: _int(self.node_jobs(n)), touched))
        self.jobsets.subscribe(lambda delta: _each(delta, lambda o: _int(_job_label(o)), touched))
        self.pods.subscribe(lambda delta: _each(delta, lambda o: _int(_job_label(o)), touched))
        self.workloads.subscribe(lambda delta: _each(delta, self._jobs_of_workload, touched))

    def nodes_of(self, job_id: int) -> tuple[Node, ...]:
        """Our Slurm nodes with the feature of that job."""
        return self.nodes.by(JOB, str(job_id))

    def jobs_with_nodes(self) -> set[int]:
        """The jobs whose feature some Slurm node of ours has."""
        return {job_id for node in self.nodes.values() for job_id in _int(self.node_jobs(node))}

    def job_of(self, jobset: JobSet) -> Iterator[int]:
        """The job id on a JobSet's label, if there is one."""
        return _int(_job_label(jobset))

    def _jobs_of_workload(self, workload: Workload) -> Iterator[int]:
        for uid in _owners(workload):
            for jobset in self.jobsets.by(UID, uid):
                yield from _int(_job_label(jobset))


def make_tables(*, mixing: str) -> Tables:
    """Empty tables with their indexes. Only nodes with the feature `mixing` belong to units here."""

    def node_jobs(node: Node) -> tuple[str, ...]:
        return _feature_jobs(node) if mixing in node.features else ()

    return Tables(
        node_jobs=node_jobs,
        jobs=Table(
            lambda job: str(job.job_id),
            indexes={
                SUCCESSOR: lambda job: map(str, predecessors(job.dependency)) if job.pending else (),
                NAMESAKE: lambda job: () if job.terminal else (namesake(job),),
                SINGLETON: lambda job: (namesake(job),) if job.pending and is_singleton(job) else (),
                SHARER: lambda job: ("",) if job.licenses or job.reservation else (),
            },
        ),
        nodes=Table(lambda node: node.name, indexes={JOB: node_jobs}),
        jobsets=Table(_key, indexes={JOB: _job_label, UID: lambda o: (o.metadata.uid,)}, newer=newer),
        workloads=Table(_key, indexes={OWNER: _owners}, newer=newer),
        pods=Table(_key, indexes={OWNER: _pod_owner}, newer=newer),
        local_queues=Table(_key, newer=newer),
        cluster_queues=Table(_key, newer=newer),
        classes=Table(_key, newer=newer),
    )


def _key(obj: JobSet | Workload | Pod | LocalQueue | ClusterQueue | WorkloadPriorityClass) -> str:
    return obj.key


def _job_label(obj: JobSet | Pod) -> tuple[str, ...]:
    value = obj.metadata.labels.get(naming.SLURM_JOB_ID)
    return (value,) if value else ()


def _pod_owner(pod: Pod) -> tuple[str, ...]:
    uid = pod.metadata.labels.get(naming.JOBSET_UID)
    return (uid,) if uid else ()


def _owners(workload: Workload) -> tuple[str, ...]:
    return tuple(owner.uid for owner in workload.metadata.owner_references)


def _feature_jobs(node: Node) -> tuple[str, ...]:
    found = (naming.job_of_feature(feature) for feature in node.features)
    return tuple(str(job_id) for job_id in found if job_id is not None)


def _int(texts: tuple[str, ...]) -> Iterator[int]:
    return (int(text) for text in texts if text.isdecimal())


def _each(delta: Delta[T], jobs: Callable[[T], Iterator[int]], touched: Callable[[int], None]) -> None:
    for row in (delta.old, delta.new):
        if row is not None:
            for job_id in jobs(row):
                touched(job_id)
