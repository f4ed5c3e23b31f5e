"""What other jobs mean for a job, and whom a change of one wakes."""

from __future__ import annotations

from api.views import JobSet, ObjectMeta
from k8s_bridge.core import naming
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.neighbours import Neighbours, subscribe
from k8s_bridge.slurm.tables import make_tables


class Cluster:
    def __init__(self) -> None:
        self.tables = make_tables(mixing="by-ns.wm")
        self.neighbours = Neighbours(self.tables)
        self.woken: list[int] = []
        subscribe(self.tables, self.neighbours, self.woken.append)

    def job(self, job_id: int, *states: str, **fields) -> Job:
        job = Job(job_id=job_id, name="x", user_id=7, states=frozenset(states or ("PENDING",)), **fields)
        self.woken.clear()
        self.tables.jobs.upsert(job)
        return job

    def jobset(self, job_id: int) -> None:
        labels = {naming.SLURM_JOB_ID: str(job_id)}
        name = naming.jobset_name(job_id)
        meta = ObjectMeta(
            name=name,
            namespace="ns",
            uid=name,
            resource_version="1",
            labels=labels,
            annotations={naming.IDENTITY: "50.0.0"},
        )
        self.tables.jobsets.upsert(JobSet(metadata=meta))


def test_a_job_that_depends_on_nobody_shares_what_all_share():
    cluster = Cluster()
    one, two = cluster.job(1), cluster.job(2)
    assert cluster.neighbours.of(one) is cluster.neighbours.of(two)


def test_predecessors_are_found_and_wake_their_successors_when_their_state_changes():
    cluster = Cluster()
    before = cluster.job(1)
    after = cluster.job(2, dependency="afterok:1(unfulfilled),afterok:99(unfulfilled)")
    assert cluster.neighbours.of(after).predecessors == {1: before}
    cluster.job(1, comment="new")
    assert cluster.woken == []
    cluster.job(1, "RUNNING")
    assert cluster.woken == [2]
    cluster.job(1, "COMPLETED")
    assert cluster.woken == [2]
    cluster.woken.clear()
    cluster.tables.jobs.remove("1")
    assert cluster.woken == [2]


def test_of_jobs_of_one_name_the_next_is_woken_when_one_ends():
    cluster = Cluster()
    cluster.job(1, "RUNNING")
    second, third = (cluster.job(i, dependency="singleton(unfulfilled)") for i in (2, 3))
    assert cluster.neighbours.of(second).rival.job_id == 1
    cluster.job(1, "COMPLETED")
    assert cluster.woken == [2]
    assert cluster.neighbours.of(second).rival is None
    assert cluster.neighbours.of(third).rival.job_id == 2


def test_licenses_are_promised_from_the_jobset_until_slurm_counts_them():
    cluster = Cluster()
    cluster.job(1, licenses="m:2")
    asking = cluster.job(2, licenses="m:1")
    assert cluster.neighbours.of(asking).promised == {}
    cluster.neighbours.asks(1)
    assert cluster.neighbours.of(asking).promised == {"m": 2}, "while its JobSet is being created"
    cluster.neighbours.asked(1)
    assert cluster.neighbours.of(asking).promised == {}
    cluster.jobset(1)
    assert cluster.neighbours.of(asking).promised == {"m": 2}
    cluster.job(1, "RUNNING", licenses="m:2")
    assert cluster.neighbours.of(asking).promised == {}
    cluster.job(1, "COMPLETED", licenses="m:2")
    assert 2 in cluster.woken
