from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.model import Node
from k8s_bridge.slurm.poller import Cycle, Poller
from tests.unit.slurm.poller.fake import COMPLETED, RUNNING, FakeSlurm, job, job_table, node_table

IDLE = frozenset({"IDLE"})
NEVER = 3600.0


class Running:
    def __init__(self, slurm: FakeSlurm, *, pace: float = NEVER, period: float = NEVER) -> None:
        self.slurm = slurm
        self.jobs, self.nodes = job_table(), node_table()
        self.pace = pace
        self.cycles: list[Cycle] = []
        self._changed = asyncio.Event()
        self.poller = Poller(
            slurm,
            self.jobs,
            self.nodes,
            pace=lambda: self.pace,
            period=period,
            on_cycle=self._on_cycle,
            rand=lambda: 1.0,
        )

    def _on_cycle(self, cycle: Cycle) -> None:
        self.cycles.append(cycle)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def ended(self, count: int) -> None:
        await self.until(lambda: len(self.cycles) >= count)


@asynccontextmanager
async def polling(slurm: FakeSlurm, *, pace: float = NEVER, period: float = NEVER) -> AsyncIterator[Running]:
    running = Running(slurm, pace=pace, period=period)
    task = asyncio.create_task(running.poller.run())
    yield running
    running.poller.stop()
    await task


async def test_it_is_synced_once_a_whole_cycle_succeeded() -> None:
    slurm = FakeSlurm(job(1))
    slurm.put_node(Node(name="a", states=IDLE))
    slurm.error = Retry("down", after=0.001)
    async with polling(slurm) as running:
        await running.ended(1)
        assert not running.poller.synced.is_set()
        assert running.poller.last_good.number == 0
        slurm.error = None
        await running.poller.synced.wait()
        assert (len(running.jobs), len(running.nodes)) == (1, 1)
        assert running.poller.last_good.error is None


async def test_a_nudge_looks_at_once_and_many_nudges_are_one() -> None:
    slurm = FakeSlurm(job(1))
    async with polling(slurm) as running:
        await running.ended(1)
        slurm.put(job(2))
        for _ in range(10):
            running.poller.nudge()
        await running.ended(2)
        assert running.jobs.get("2") == job(2)
        await asyncio.sleep(0.02)
        assert len(running.cycles) == 2


async def test_a_nudge_during_a_look_leads_to_another_look() -> None:
    slurm = FakeSlurm(job(1))
    async with polling(slurm) as running:
        await running.ended(1)
        original = slurm.job_states

        async def states() -> object:
            found = await original()
            if len(running.cycles) == 1:
                slurm.put(job(2))
                running.poller.nudge()
            return found

        slurm.job_states = states  # type: ignore[method-assign]
        running.poller.nudge()
        await running.ended(3)
        assert running.jobs.get("2") == job(2)


async def test_a_write_is_followed_by_a_cycle_that_began_after_it_and_read_the_job() -> None:
    slurm = FakeSlurm(job(1))
    async with polling(slurm) as running:
        await running.ended(1)
        slurm.put(job(1, held=True))
        written = asyncio.get_running_loop().time()
        running.poller.written(1)
        await running.ended(2)
        assert running.poller.last_good.started >= written
        assert running.jobs.get("1") == job(1, held=True)


async def test_the_pace_is_asked_after_each_cycle() -> None:
    async with polling(FakeSlurm(job(1)), pace=0.001) as running:
        await running.ended(5)
        running.pace = NEVER
        count = len(running.cycles)
        await asyncio.sleep(0.05)
        assert len(running.cycles) <= count + 1


async def test_cycles_are_numbered_and_their_times_are_in_order() -> None:
    async with polling(FakeSlurm(job(1)), pace=0.001) as running:
        await running.ended(4)
        numbers = [cycle.number for cycle in running.cycles]
        assert numbers == list(range(1, len(numbers) + 1))
        times = [time for cycle in running.cycles for time in (cycle.started, cycle.finished)]
        assert times == sorted(times)


async def test_trouble_is_told_and_everything_is_listed_anew_after_it() -> None:
    slurm = FakeSlurm(job(1))
    slurm.put_node(Node(name="a", states=IDLE))
    async with polling(slurm) as running:
        await running.ended(1)
        slurm.error = Retry("down")
        running.poller.nudge()
        await running.ended(2)
        assert isinstance(running.cycles[1].error, Retry)
        assert running.poller.last_good.number == 1
        slurm.error = None
        slurm.changed = 1  # another slurmctld, whose clock is behind: "since" means nothing to it
        slurm.nodes_by_name = {"b": Node(name="b", states=IDLE)}
        running.poller.nudge()
        await running.until(lambda: running.poller.last_good.number > 1)
        assert running.nodes.keys() == ("b",)


async def test_nodes_that_are_gone_leave_the_table_unless_the_answer_had_malformed_ones() -> None:
    slurm = FakeSlurm()
    slurm.put_node(Node(name="a", states=IDLE))
    async with polling(slurm) as running:
        await running.ended(1)
        del slurm.nodes_by_name["a"]
        slurm.malformed = 1
        slurm.put_node(Node(name="b", states=IDLE))
        running.poller.nudge()
        await running.ended(2)
        assert set(running.nodes.keys()) == {"a", "b"}
        slurm.malformed = 0
        slurm.put_node(Node(name="b", states=IDLE))
        running.poller.nudge()
        await running.ended(3)
        assert running.nodes.keys() == ("b",)


async def test_a_slow_listing_does_not_delay_the_sight_of_a_new_job() -> None:
    slurm = FakeSlurm(job(1))
    gate = asyncio.Event()
    async with polling(slurm, pace=0.001, period=0.0) as running:
        await running.ended(1)
        original = slurm.jobs

        async def slow(since: int | None = None) -> object:
            await gate.wait()
            return await original(since)

        slurm.jobs = slow  # type: ignore[method-assign]
        count = len(running.cycles)
        await running.ended(count + 3)
        slurm.put(job(2))
        await running.until(lambda: running.jobs.get("2") is not None)
        gate.set()


async def test_stop_ends_it_at_once_even_between_cycles() -> None:
    async with asyncio.timeout(2), polling(FakeSlurm(job(1))) as running:
        await running.ended(1)


async def test_a_pause_that_has_begun_follows_the_pace() -> None:
    slurm = FakeSlurm(job(1))
    async with polling(slurm) as running:
        await running.ended(1)
        running.pace = 0.01
        running.poller.repace()
        await running.ended(3)


async def test_a_pace_that_is_the_same_ends_no_pause() -> None:
    slurm = FakeSlurm(job(1))
    async with polling(slurm) as running:
        await running.ended(1)
        running.poller.repace()
        await asyncio.sleep(0.02)
        assert len(running.cycles) == 1


async def test_where_a_job_is_seen_over_its_nodes_are_seen_idle() -> None:
    """A job that ends while the jobs are read: its busy node must not wait for another cycle."""
    slurm = FakeSlurm(job(1, RUNNING))
    slurm.put_node(Node(name="a", states=frozenset({"ALLOCATED"})))
    async with polling(slurm) as running:
        await running.ended(1)
        original = slurm.job_states

        async def states() -> object:
            await asyncio.sleep(0)  # as a request does: whatever is asked beside it is answered before
            slurm.put(job(1, COMPLETED))
            slurm.put_node(Node(name="a", states=IDLE))
            return await original()

        slurm.job_states = states  # type: ignore[method-assign]
        running.poller.nudge()
        await running.ended(2)
        assert running.jobs.get("1") == job(1, COMPLETED)
        assert running.nodes.get("a") == Node(name="a", states=IDLE)
