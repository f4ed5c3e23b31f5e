"""What other jobs mean for a job: whom its dependency names, who uses licenses, and whom a change wakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from k8s_bridge.kube.store import Delta
from k8s_bridge.slurm.eligibility import Availability, Surroundings, licenses
from k8s_bridge.slurm.eligibility.dependency import is_singleton, namesake, predecessors, rival
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.tables import NAMESAKE, SHARER, SINGLETON, SUCCESSOR, Tables


class Neighbours:
    """Reads the surroundings of jobs off the tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._asking: set[int] = set()
        self._plain = Surroundings()

    def asks(self, job_id: int) -> None:
        """Its JobSet is being created: what it needs is promised before the answer is in."""
        self._asking.add(job_id)

    def asked(self, job_id: int) -> None:
        """There is a JobSet, or there will be none."""
        self._asking.discard(job_id)

    @property
    def available(self) -> Availability:
        """What Slurm has, as it was last read."""
        return self._plain.available

    @available.setter
    def available(self, available: Availability) -> None:
        self._plain = Surroundings(available=available)

    def of(self, job: Job) -> Surroundings:
        """The surroundings of one job; the same object for all that depend on nobody."""
        if not job.dependency and not job.licenses:
            return self._plain
        jobs = self._tables.jobs
        named = ((job_id, jobs.get(str(job_id))) for job_id in predecessors(job.dependency))
        namesakes = jobs.each(NAMESAKE, namesake(job)) if is_singleton(job) else ()
        return Surroundings(
            available=self.available,
            promised=self._promised(job) if job.licenses else {},
            predecessors={job_id: before for job_id, before in named if before is not None},
            rival=rival(job, namesakes),
        )

    def waiting_for(self, delta: Delta[Job]) -> Iterator[int]:
        """The jobs whose start a change of another may allow or forbid."""
        old, new = delta.old, delta.new
        if old is not None and new is not None and old.states == new.states:
            return
        jobs = self._tables.jobs
        yield from (job.unit_id for job in jobs.each(SUCCESSOR, delta.key))
        if old is not None and (new is None or new.terminal):
            yield from sorted(job.unit_id for job in jobs.each(SINGLETON, namesake(old)))[:1]
            if old.licenses:
                yield from self.sharers()

    def sharers(self) -> Iterator[int]:
        """The jobs that ask for licenses or for a reservation."""
        return (job.unit_id for job in self._tables.jobs.each(SHARER, ""))

    def _promised(self, job: Job) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for other in self._tables.jobs.each(SHARER, ""):
            if not other.pending or other.job_id == job.job_id:
                continue
            if other.unit_id in self._asking or self._tables.has_jobset(other.unit_id):
                found.update(licenses.asked(other.licenses))
        return found


def subscribe(tables: Tables, neighbours: Neighbours, touched: Callable[[int], None]) -> None:
    """Call `touched` with each job that a change of another job concerns."""

    def changed(delta: Delta[Job]) -> None:
        for job_id in tuple(neighbours.waiting_for(delta)):
            touched(job_id)

    tables.jobs.subscribe(changed)
