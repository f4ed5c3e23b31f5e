"""What is counted is what is there, whatever moved before."""

from __future__ import annotations

from k8s_bridge.slurm.census import Census, Group
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.report import counts
from k8s_bridge.slurm.unit import State, Unit


def group(state: State, partition: str = "a", *, requeued: bool = False) -> Group:
    return Group(state, partition, requeued)


def test_a_unit_is_counted_where_it_is_and_nowhere_else():
    census = Census()
    census.put(1, group(State.HELD))
    census.put(2, group(State.HELD))
    census.put(1, group(State.QUEUED))
    assert census.groups() == {group(State.HELD): 1, group(State.QUEUED): 1}
    assert census.states() == {State.HELD: 1, State.QUEUED: 1}
    assert set(census.within({State.QUEUED, State.RUNNING})) == {1}


def test_what_is_no_more_is_not_counted():
    census = Census()
    census.put(1, group(State.HELD))
    census.remove(1)
    census.remove(1)
    assert census.groups() == {}
    assert list(census.within(State)) == []


def test_the_status_counts_by_word_and_by_partition():
    census = Census()
    census.put(1, group(State.HELD))
    census.put(2, group(State.RUNNING, requeued=True))
    census.put(3, group(State.RUNNING, "b"))
    census.put(4, group(State.RUNNING, "unmanaged"))
    found = counts(census.groups(), nodes={"a": 2, "b": 1})
    assert found["counts"] == {"held": 1, "pending": 1, "running": 3, "requeued": 1, "nodes": 3}
    assert found["partitions"] == [
        {"partitionName": "a", "held": 1, "pending": 1, "running": 1, "requeued": 1, "nodes": 2},
        {"partitionName": "b", "running": 1, "nodes": 1},
    ]


def test_a_job_that_slurm_forgot_has_no_partition():
    assert Group.of(Unit(job_id=1), State.DRAINING) == group(State.DRAINING, "")
    job = Job(job_id=1, partition="a", restart_count=2)
    assert Group.of(Unit(job_id=1, job=job), State.HELD) == group(State.HELD, requeued=True)
