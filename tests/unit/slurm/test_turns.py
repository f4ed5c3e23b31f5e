"""Who is asked for next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k8s_bridge.slurm.turns import Turns


def waiting(turns: Turns, *ranks: tuple[int, int, int], queue: str = "q") -> None:
    for rank in ranks:
        turns.wait(rank[2], queue=queue, rank=rank)


def test_priority_goes_before_age_and_age_before_id():
    turns = Turns()
    turns.limit("q", 2)
    waiting(turns, (-10, 5, 1), (-1000, 9, 2), (-10, 4, 3))
    assert list(turns.next()) == [2, 3]
    assert [turns.may(j) for j in (1, 2, 3)] == [False, True, True]


def test_a_job_in_flight_takes_a_place_until_it_leaves():
    turns = Turns()
    turns.limit("q", 1)
    waiting(turns, (0, 1, 1), (0, 2, 2))
    turns.fly(1, queue="q")
    assert list(turns.next()) == []
    turns.leave(1)
    assert list(turns.next()) == [2]


def test_queues_do_not_wait_for_each_other():
    turns = Turns()
    turns.limit("a", 1)
    turns.limit("b", 1)
    waiting(turns, (0, 1, 1), queue="a")
    waiting(turns, (0, 1, 2), queue="b")
    turns.fly(1, queue="a")
    assert list(turns.next()) == [2]


@given(st.lists(st.tuples(st.sampled_from(["wait", "fly", "leave"]), st.integers(1, 8)), max_size=60))
def test_it_equals_a_list_that_is_sorted_each_time(steps):
    turns, places = Turns(), {}
    turns.limit("q", 3)
    for step, job in steps:
        if step == "wait":
            turns.wait(job, queue="q", rank=(-job % 3, job, job))
            places[job] = (-job % 3, job, job)
        elif step == "fly":
            turns.fly(job, queue="q")
            places[job] = None
        else:
            turns.leave(job)
            places.pop(job, None)
        free = 3 - sum(1 for rank in places.values() if rank is None)
        order = sorted(rank for rank in places.values() if rank is not None)
        assert list(turns.next()) == [rank[2] for rank in order[: max(0, free)]]


def test_the_next_are_called_when_somebody_made_room_and_not_again_and_again():
    turns = Turns()
    turns.limit("q", 1)
    assert list(turns.called()) == []
    turns.wait(1, queue="q", rank=(0, 0, 1))
    turns.wait(2, queue="q", rank=(0, 0, 2))
    assert list(turns.called()) == []
    turns.fly(1, queue="q")
    assert list(turns.called()) == []
    turns.leave(1)
    assert list(turns.called()) == [2]
    assert list(turns.called()) == []
    turns.limit("q", 2)
    assert list(turns.called()) == [2]
