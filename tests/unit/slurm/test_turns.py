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


def test_jobs_that_gave_their_quota_back_keep_nobody_else_waiting():
    turns = Turns()
    turns.limit("q", 2)
    turns.park(1, queue="q", kind="limited")
    turns.park(2, queue="q", kind="limited")
    turns.wait(3, queue="q", rank=(0, 1, 3), kind="limited")
    turns.wait(4, queue="q", rank=(0, 2, 4), kind="other")
    assert list(turns.next()) == [4]
    assert [turns.may(j) for j in (1, 2, 3, 4)] == [True, True, False, True]


def test_jobs_like_a_parked_one_go_after_all_others_until_none_is_parked():
    turns = Turns()
    turns.limit("q", 3)
    turns.wait(1, queue="q", rank=(-9, 1, 1), kind="limited")
    turns.wait(2, queue="q", rank=(0, 1, 2), kind="other")
    turns.wait(3, queue="q", rank=(0, 2, 3), kind="other")
    assert list(turns.next()) == [1, 2, 3]
    turns.park(4, queue="q", kind="limited")
    assert list(turns.next()) == [2, 3]
    turns.leave(2)
    assert list(turns.next()) == [3, 1]
    turns.fly(4, queue="q")
    assert list(turns.next()) == [1, 3]


def test_jobs_that_are_all_alike_do_not_become_more_objects_than_the_limit():
    turns = Turns()
    turns.limit("q", 3)
    for job in range(10):
        turns.wait(job, queue="q", rank=(0, job, job), kind="limited")
    for _ in range(10):
        for job in list(turns.next()):
            turns.fly(job, queue="q")
            turns.park(job, queue="q", kind="limited")
    assert [job for job in range(10) if turns.may(job)] == [0, 1, 2]


STEPS = st.tuples(st.sampled_from(["wait", "fly", "park", "leave"]), st.integers(1, 8))


@given(st.lists(STEPS, max_size=60))
def test_it_equals_a_list_that_is_sorted_each_time(steps):
    turns, places = Turns(), {}
    turns.limit("q", 3)
    for step, job in steps:
        kind = job % 2
        if step == "wait":
            turns.wait(job, queue="q", rank=(-job % 3, job, job), kind=kind)
        elif step == "fly":
            turns.fly(job, queue="q")
        elif step == "park":
            turns.park(job, queue="q", kind=kind)
        else:
            turns.leave(job)
        places[job] = step
        assert list(turns.next()) == expected(places, limit=3)
        assert [job for job in turns.next() if not turns.may(job)] == []


def expected(places: dict[int, str], *, limit: int) -> list[int]:
    parked = {job % 2 for job, place in places.items() if place == "park"}
    free = limit - sum(1 for place in places.values() if place == "fly")
    held_back = sum(1 for place in places.values() if place == "park")
    order = sorted(
        (job % 2 in parked, -job % 3, job, job) for job, place in places.items() if place == "wait"
    )
    may = (n < (free - held_back if behind else free) for n, (behind, *_) in enumerate(order))
    return [rank[-1] for rank, ok in zip(order, may, strict=True) if ok]


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
