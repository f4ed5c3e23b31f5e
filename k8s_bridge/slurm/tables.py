"""Everything that is observed for one WorkloadMixing, with the indexes that join both worlds by job id.

Only rows live here. Who fills them (reflectors, poller) and who reads them (observe) are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from api.views import (
    AdmissionCheck,
    ClusterQueue,
    JobSet,
    LocalQueue,
    Machine,
    Object,
    Pod,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from k8s_bridge.core import naming
from k8s_bridge.kube.store import Delta, Table
from k8s_bridge.kube.versions import newer
from k8s_bridge.slurm.eligibility.dependency import is_singleton, namesake, predecessors
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.unit import Key, Slot, job_of

T = TypeVar("T")

UNIT, SLOTS, MEMBERS, OWNER, UID = "unit", "slots", "members", "owner", "uid"
"""Indexes: by the text of a unit's key; by the id of the array that a slot or a record belongs to."""
FAILED = "failed"
"""Index of jobs: tasks that have failed, by the id of their array."""
COMPONENTS = "components"
"""Index of jobs by the id of the heterogeneous job that a record is part of."""
MACHINE = "machine"
"""Index of pods: by the Kubernetes node that they are on."""
IMPOSTOR = "impostor"
"""Index of JobSets: those that bear our labels and were not made by a bridge, under ""."""
SUCCESSOR, NAMESAKE, SINGLETON, SHARER = "successor", "namesake", "singleton", "sharer"
"""Indexes of jobs: by the id of a job that the dependency names; by name and user, if not over; the same,
if it must be the only one of them; and those that share licenses or reservations, under ""."""


@dataclass(frozen=True, slots=True)
class Tables:
    """One table per kind."""

    node_unit: Callable[[Node], Key | None]
    """What a node was made for; None if it is not of this WorkloadMixing."""
    jobs: Table[Job]
    nodes: Table[Node]
    jobsets: Table[JobSet]
    workloads: Table[Workload]
    pods: Table[Pod]
    machines: Table[Machine]
    local_queues: Table[LocalQueue]
    cluster_queues: Table[ClusterQueue]
    classes: Table[WorkloadPriorityClass]
    checks: Table[AdmissionCheck]
    flavors: Table[ResourceFlavor]
    topologies: Table[Topology]

    def keys(self) -> set[Key]:
        """The keys of all units that any source knows of."""
        jobsets = {key for jobset in self.jobsets.values() for key in _family(unit_of(jobset))}
        nodes = {key for node in self.nodes.values() for key in _family(self.node_unit(node))}
        return {job.unit_id for job in self.jobs.values()} | jobsets | nodes

    def subscribe(self, touched: Callable[[Key], None]) -> None:
        """Call `touched` with the key of each unit that a change concerns; of a slot with its array's too."""
        self.jobs.subscribe(lambda delta: _each(delta, lambda job: (job.unit_id,), touched))
        self.nodes.subscribe(lambda delta: _each(delta, lambda n: _family(self.node_unit(n)), touched))
        self.jobsets.subscribe(lambda delta: _each(delta, lambda o: _family(unit_of(o)), touched))
        self.pods.subscribe(lambda delta: _each(delta, lambda o: _family(unit_of(o)), touched))
        self.workloads.subscribe(lambda delta: _each(delta, self._units_of_workload, touched))
        self.machines.subscribe(lambda delta: self._cordoned_or_not(delta, touched))

    def nodes_of(self, job_id: int) -> tuple[Node, ...]:
        """Our Slurm nodes with the feature of that job."""
        return (*self.nodes.by(UNIT, str(job_id)), *self.nodes.by(SLOTS, str(job_id)))

    def jobs_with_nodes(self) -> set[int]:
        """The jobs whose feature some Slurm node of ours has."""
        return {job_of(key) for node in self.nodes.values() if (key := self.node_unit(node)) is not None}

    def slots_of(self, job_id: int) -> set[Slot]:
        """The slots of an array of which a JobSet or a node is left."""
        text = str(job_id)
        found = [unit_of(jobset) for jobset in self.jobsets.by(SLOTS, text)]
        found += [self.node_unit(node) for node in self.nodes.by(SLOTS, text)]
        return {key for key in found if isinstance(key, Slot)}

    def has_jobset(self, job_id: int) -> bool:
        """Whether capacity was asked for, for the job or for a slot of it."""
        return bool(self.jobsets.by(UNIT, str(job_id)) or self.jobsets.by(SLOTS, str(job_id)))

    def jobs_with_jobsets(self) -> set[int]:
        """The jobs that have a JobSet."""
        return {job_of(key) for jobset in self.jobsets.values() if (key := unit_of(jobset)) is not None}

    def impostors(self) -> tuple[JobSet, ...]:
        """The JobSets that bear our labels and were not made by a bridge: nobody's, and left alone."""
        return self.jobsets.by(IMPOSTOR, "")

    def cordoned(self, pods: Iterable[Pod]) -> str:
        """The first of their Kubernetes nodes that takes no new pods; "" without one."""
        names = (pod.spec.node_name for pod in pods)
        return next((n for n in names if (there := self.machines.get(n)) and there.spec.unschedulable), "")

    def _cordoned_or_not(self, delta: Delta[Machine], touched: Callable[[Key], None]) -> None:
        """Other changes of a Kubernetes node, such as its heartbeat, concern nobody."""
        before, after = (row is not None and row.spec.unschedulable for row in (delta.old, delta.new))
        row = delta.new or delta.old
        if before is not after and row is not None:
            for pod in self.pods.by(MACHINE, row.metadata.name):
                for key in _family(unit_of(pod)):
                    touched(key)

    def _units_of_workload(self, workload: Workload) -> Iterator[Key]:
        for uid in _owners(workload):
            for jobset in self.jobsets.by(UID, uid):
                yield from _family(unit_of(jobset))


def make_tables(*, mixing: str) -> Tables:
    """Empty tables with their indexes. Only nodes with the feature `mixing` belong to units here."""

    def node_unit(node: Node) -> Key | None:
        return _unit_of_features(node.features) if mixing in node.features else None

    return Tables(
        node_unit=node_unit,
        jobs=Table(
            lambda job: str(job.job_id),
            indexes={
                MEMBERS: _array_of,
                FAILED: lambda job: (str(job.array_job_id),) if job.array_job_id and job.failed else (),
                COMPONENTS: lambda job: () if job.het_job_id is None else (str(job.het_job_id),),
                SUCCESSOR: lambda job: map(str, predecessors(job.dependency)) if job.pending else (),
                NAMESAKE: lambda job: () if job.terminal else (namesake(job),),
                SINGLETON: lambda job: (namesake(job),) if job.pending and is_singleton(job) else (),
                SHARER: lambda job: ("",) if job.licenses or job.reservation else (),
            },
        ),
        nodes=Table(
            lambda node: node.name,
            indexes={UNIT: lambda n: _text(node_unit(n)), SLOTS: lambda n: _array_text(node_unit(n))},
        ),
        jobsets=Table(
            _key,
            indexes={
                UNIT: lambda o: _text(unit_of(o)),
                SLOTS: lambda o: _array_text(unit_of(o)),
                UID: lambda o: (o.metadata.uid,),
                IMPOSTOR: lambda o: ("",) if unit_of(o) is None else (),
            },
            newer=newer,
        ),
        workloads=Table(_key, indexes={OWNER: _owners}, newer=newer),
        pods=Table(_key, indexes={OWNER: _pod_owner, MACHINE: lambda o: (o.spec.node_name,)}, newer=newer),
        machines=Table(_key, newer=newer),
        local_queues=Table(_key, newer=newer),
        cluster_queues=Table(_key, newer=newer),
        classes=Table(_key, newer=newer),
        checks=Table(_key, newer=newer),
        flavors=Table(_key, newer=newer),
        topologies=Table(_key, newer=newer),
    )


def _key(obj: Object) -> str:
    return obj.key


def unit_of(obj: JobSet | Pod) -> Key | None:
    """The key of the unit that a JobSet or a pod was made for, by its labels.

    A JobSet of another name than such a unit's, or that does not say for which submission it is, was not made
    by a bridge, whatever its labels say.
    """
    job_id = obj.metadata.labels.get(naming.SLURM_JOB_ID, "")
    slot = obj.metadata.labels.get(naming.SLURM_ARRAY_SLOT, "")
    if not job_id.isdecimal() or (isinstance(obj, JobSet) and not _is_made_for(obj, job_id, slot)):
        return None
    return Slot(int(job_id), int(slot)) if slot.isdecimal() else int(job_id)


def _is_made_for(jobset: JobSet, job_id: str, slot: str) -> bool:
    meta, unit = jobset.metadata, f"{job_id}-s{slot}" if slot else job_id
    return naming.IDENTITY in meta.annotations and naming.is_jobset_name(meta.name, unit)


def _pod_owner(pod: Pod) -> tuple[str, ...]:
    uid = pod.metadata.labels.get(naming.JOBSET_UID)
    return (uid,) if uid else ()


def _owners(workload: Workload) -> tuple[str, ...]:
    return tuple(owner.uid for owner in workload.metadata.owner_references)


def _unit_of_features(features: tuple[str, ...]) -> Key | None:
    slots = (naming.slot_of_feature(feature) for feature in features)
    jobs = (naming.job_of_feature(feature) for feature in features)
    slot = next(filter(None, slots), None)
    return Slot(*slot) if slot else next((job_id for job_id in jobs if job_id is not None), None)


def _array_of(job: Job) -> tuple[str, ...]:
    """The array of a record that is not over."""
    return (str(job.array_job_id),) if job.array_job_id is not None and not job.terminal else ()


def _text(key: Key | None) -> tuple[str, ...]:
    return () if key is None else (str(key),)


def _array_text(key: Key | None) -> tuple[str, ...]:
    return (str(key.job_id),) if isinstance(key, Slot) else ()


def _family(key: Key | None) -> tuple[Key, ...]:
    """The unit, and the array that it is a slot of."""
    if key is None:
        return ()
    return (key, key.job_id) if isinstance(key, Slot) else (key,)


def _each(delta: Delta[T], units: Callable[[T], Iterable[Key]], touched: Callable[[Key], None]) -> None:
    for row in (delta.old, delta.new):
        if row is not None:
            for key in units(row):
                touched(key)
