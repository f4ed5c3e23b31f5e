from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8s_bridge.core.errors import Conflict, Missing, Retry, Terminal
from k8s_bridge.runtime.backoff import Backoff, exponential
from k8s_bridge.runtime.queue import Queue


def new() -> Queue[str]:
    return Queue(Backoff(lambda: 0.5))  # 0.5 is the middle of the jitter: delays are exact


async def popped_at(queue: Queue[str]) -> float:
    """The time at which the next key becomes ready, from now."""
    clock = asyncio.get_running_loop().time
    started, ready = clock(), asyncio.Event()
    queue.on_ready(ready.set)
    if not len(queue):
        await ready.wait()
    assert queue.pop() is not None
    return round(clock() - started, 6)


def test_a_key_added_twice_is_popped_once_and_in_order(virtual):
    async def main():
        queue = new()
        for key in ("b", "a", "b", "c"):
            queue.add(key)
        return [queue.pop(), queue.pop(), queue.pop(), queue.pop()]

    assert virtual(main) == ["b", "a", "c", None]


def test_a_key_that_changes_during_its_pass_comes_back_after_it_and_not_before(virtual):
    async def main():
        queue = new()
        queue.add("a")
        queue.pop()
        queue.add("a")
        queue.add("a")
        assert queue.pop() is None
        queue.succeeded("a")
        assert queue.pop() == "a"
        queue.succeeded("a")
        assert queue.pop() is None

    virtual(main)


def test_a_delayed_key_comes_at_the_earliest_time_that_was_asked_for(virtual):
    async def main():
        queue = new()
        queue.add_after("a", 30)
        queue.add_after("a", 10)
        queue.add_after("a", 20)
        assert await popped_at(queue) == 10
        queue.succeeded("a")
        await asyncio.sleep(100)
        assert queue.pop() is None

    virtual(main)


def test_back_off_doubles_from_200_ms_to_a_minute_and_starts_over_after_a_success(virtual):
    async def main():
        queue, waits = new(), []
        queue.add("a")
        queue.pop()
        for _ in range(11):
            queue.failed("a", Retry("busy"))
            waits.append(await popped_at(queue))
        queue.succeeded("a")
        queue.add("a")
        queue.pop()
        queue.failed("a", RuntimeError("a bug backs off like trouble does"))
        return [*waits, await popped_at(queue)]

    assert virtual(main) == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60, 60, 0.2]


@given(failures=st.integers(1, 10_000), random=st.floats(0, 1, exclude_max=True))
def test_jitter_stays_within_a_quarter_and_below_the_bound(failures, random):
    middle = exponential(failures, lambda: 0.5)
    assert middle * 0.75 <= exponential(failures, lambda: random) <= min(60, middle * 1.25)


def test_a_change_cuts_a_back_off_short(virtual):
    async def main():
        queue = new()
        queue.add("a")
        queue.pop()
        queue.failed("a", Terminal("no such class", reason="NoClass"))
        queue.add("a")
        return await popped_at(queue)

    assert virtual(main) == 0


def test_a_change_does_not_cut_short_what_the_server_asked_for(virtual):
    async def main():
        queue = new()
        queue.add("a")
        queue.pop()
        queue.failed("a", Retry("slow down", after=7))
        queue.add("a")
        return await popped_at(queue)

    assert virtual(main) == 7


def test_a_change_during_the_failing_pass_waits_as_well(virtual):
    async def main():
        queue = new()
        queue.add("a")
        queue.pop()
        queue.add("a")
        queue.failed("a", Retry("slow down", after=7))
        return await popped_at(queue)

    assert virtual(main) == 7


@pytest.mark.parametrize("error", [Terminal("x", reason="X"), Missing("gone")])
def test_what_cannot_be_helped_rests_for_a_minute(virtual, error):
    async def main():
        queue = new()
        queue.add("a")
        queue.pop()
        queue.failed("a", error)
        return await popped_at(queue)

    assert virtual(main) == 60


def test_a_conflict_is_tried_again_at_once_five_times_in_a_row(virtual):
    async def main():
        queue, waits = new(), []
        queue.add("a")
        queue.pop()
        for _ in range(8):
            queue.failed("a", Conflict("changed"))
            waits.append(await popped_at(queue))
        return waits

    assert virtual(main) == [0, 0, 0, 0, 0, 0.2, 0.4, 0.8]


def test_one_failing_key_delays_no_other(virtual):
    async def main():
        queue = new()
        queue.add("bad")
        queue.pop()
        queue.failed("bad", Retry("down", after=50))
        queue.add("good")
        return queue.pop()

    assert virtual(main) == "good"


def test_a_closed_queue_has_no_timer_left(virtual):
    async def main():
        queue = new()
        queue.add_after("a", 1)
        queue.close()
        await asyncio.sleep(5)
        return queue.pop(), queue.delayed

    assert virtual(main) == (None, 0)


KEYS = st.sampled_from("abc")
ERRORS = st.sampled_from(
    [Retry("r"), Retry("r", after=3), Conflict("c"), Terminal("t", reason="T"), ValueError("bug")]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS),
        st.tuples(st.just("add_after"), KEYS, st.sampled_from([0.0, 0.5, 5.0, 90.0])),
        st.tuples(st.just("pop")),
        st.tuples(st.just("succeed"), st.sampled_from([None, 0.0, 4.0])),
        st.tuples(st.just("fail"), ERRORS),
        st.tuples(st.just("sleep"), st.sampled_from([0.1, 1.0, 61.0])),
    ),
    max_size=60,
)


class Model:
    """What is owed: for each key the latest time at which it has to be ready."""

    def __init__(self):
        self.queue = new()
        self.owed: dict[str, float] = {}
        self.active: list[str] = []
        self.floor: dict[str, float] = {}

    def owe(self, key, due):
        due = max(due, self.floor.get(key, 0.0))
        self.owed[key] = min(due, self.owed.get(key, due))

    def pop(self):
        key = self.queue.pop()
        if key is None:
            return
        assert key not in self.active, "two passes on one key"
        assert _time() >= self.floor.pop(key, 0.0) - 0.001, "sooner than the server asked for"
        self.owed.pop(key, None)
        self.active.append(key)

    async def step(self, step):
        match step:
            case ("add", key):
                self.queue.add(key)
                self.owe(key, _time())
            case ("add_after", key, seconds):
                self.queue.add_after(key, seconds)
                self.owe(key, _time() + seconds)
            case ("pop",):
                self.pop()
            case ("succeed", after) if self.active:
                key = self.active.pop(0)
                self.queue.succeeded(key, after=after)
                if after is not None:
                    self.owe(key, _time() + after)
            case ("fail", error) if self.active:
                self.fail(self.active.pop(0), error)
            case ("sleep", seconds):
                await asyncio.sleep(seconds)
        self.check()

    def fail(self, key, error):
        if isinstance(error, Retry) and error.after is not None:
            self.floor[key] = _time() + error.after
            self.owed.update({key: max(self.owed[key], self.floor[key])} if key in self.owed else {})
        self.owe(key, _time() + self.queue.failed(key, error))

    def check(self):
        ready = set(self.queue._waiting)
        assert not ready & set(self.active)
        overdue = {key for key, due in self.owed.items() if due < _time() - 0.001}
        assert overdue <= ready | set(self.active), "a key was lost"

    async def drain(self):
        """Let every pass end and every timer fire: nothing may be owed in the end."""
        for _ in range(20):
            while self.active:
                self.queue.succeeded(self.active.pop())
            await asyncio.sleep(100)
            while len(self.queue):
                self.pop()
        assert not self.owed
        assert self.queue.delayed == 0


def _time():
    return asyncio.get_running_loop().time()


@settings(max_examples=300, deadline=None)
@given(steps=STEPS)
def test_no_key_is_lost_and_none_is_worked_on_twice_at_once(virtual, steps):
    async def main():
        model = Model()
        for step in steps:
            await model.step(step)
        await model.drain()

    virtual(main)
