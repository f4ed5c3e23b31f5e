from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from k8s_bridge.core.errors import Retry, Terminal
from k8s_bridge.kube.store import Delta
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.poller.doubt import PATIENCE, Doubt
from k8s_bridge.slurm.poller.jobs import DUTY, VERIFY, WATCHED, JobMirror
from tests.unit.slurm.poller.fake import COMPLETED, RUNNING, Clock, FakeSlurm, job, job_table

PERIOD = 10.0


class World:
    def __init__(self, *jobs: Job, cheap: bool = True, interest: Iterable[int] = ()) -> None:
        self.slurm = FakeSlurm(*jobs, cheap=cheap)
        self.table = job_table()
        self.deltas: list[Delta[Job]] = []
        self.table.subscribe(self.deltas.append)
        self.clock = Clock()
        self.doubted: list[int] = []
        self.interest = set(interest)
        self.mirror = JobMirror(
            self.slurm,
            self.table,
            interest=lambda: self.interest,
            period=PERIOD,
            clock=self.clock,
            doubt=Doubt(clock=self.clock, report=self.doubted.append),
        )

    async def cycle(self, *, after: float = 1.0) -> None:
        """One cycle; only what it asked and told is remembered."""
        self.slurm.read.clear()
        self.slurm.calls.clear()
        self.deltas.clear()
        self.clock.now += after
        await self.mirror.refresh()
        if self.mirror.watch_due:
            await self.mirror.watch()

    def row(self, job_id: int) -> Job | None:
        return self.table.get(str(job_id))

    @property
    def ids(self) -> set[int]:
        return {row.job_id for row in self.table.values()}


async def test_the_first_cycle_lists_everything_and_the_next_ones_only_states() -> None:
    world = World(job(1), job(2))
    await world.cycle()
    assert (world.ids, world.slurm.calls["full"]) == ({1, 2}, 1)
    await world.cycle()
    assert dict(world.slurm.calls) == {"states": 1}


async def test_new_and_changed_jobs_are_read_one_by_one() -> None:
    world = World(job(1), job(2))
    await world.cycle()
    world.slurm.put(job(2, RUNNING, nodes="n"), job(3, name="new"))
    await world.cycle()
    assert sorted(world.slurm.read) == [2, 3]
    assert world.row(2) == job(2, RUNNING, nodes="n")
    assert world.row(3) == job(3, name="new")


async def test_many_changes_are_one_listing() -> None:
    world = World(job(1))
    await world.cycle()
    world.slurm.put(*(job(number) for number in range(2, 400)))
    await world.cycle()
    assert (len(world.ids), world.slurm.calls["full"], world.slurm.read) == (399, 1, [])


async def test_a_change_that_states_do_not_show_is_seen_on_jobs_of_interest() -> None:
    world = World(job(1, held=True), job(2, held=True), interest=[1])
    await world.cycle()
    world.slurm.put(job(1, held=False), job(2, held=False))
    await world.cycle(after=PERIOD)
    assert (world.row(1), world.row(2)) == (job(1, held=False), job(2, held=True))
    await world.cycle(after=1)
    assert world.slurm.read == []


async def test_states_that_are_those_of_before_are_compared_with_a_row_that_changed_meanwhile() -> None:
    world = World(job(1))
    for _ in range(2):
        await world.cycle()
    world.slurm.read_as[1] = job(1, RUNNING)
    world.mirror.written([1])
    await world.cycle()
    assert world.row(1) == job(1, RUNNING)
    await world.cycle()
    assert world.row(1) == job(1), "it was requeued between two answers that look the same"


async def test_a_late_answer_does_not_undo_what_was_read_after_it_was_asked_for() -> None:
    world = World(job(1), interest=[1])
    await world.cycle()
    original, late = world.slurm.job, asyncio.Event()

    async def slow(job_id: int) -> Job:
        world.slurm.job = original  # type: ignore[method-assign]
        old = await original(job_id)
        await late.wait()
        return old

    world.slurm.job = slow  # type: ignore[method-assign]
    world.clock.now += PERIOD
    watching = asyncio.create_task(world.mirror.watch())
    await asyncio.sleep(0)
    world.slurm.put(job(1, RUNNING))
    world.clock.now += 1
    await world.mirror.refresh()
    late.set()
    await watching
    assert world.row(1) == job(1, RUNNING)


async def test_interest_is_bounded_and_takes_turns() -> None:
    count = 2 * WATCHED
    world = World(*(job(number) for number in range(count)), interest=range(count))
    await world.cycle()
    seen: set[int] = set()
    for _ in range(2):
        await world.cycle(after=PERIOD)
        assert len(world.slurm.read) == WATCHED
        seen |= set(world.slurm.read)
        await world.cycle(after=1)
        assert world.slurm.read == [], "once a period is enough"
    assert len(seen) == count


async def test_what_was_written_is_read_in_the_next_cycle_even_if_that_fails_first() -> None:
    world = World(job(1, held=False))
    await world.cycle()
    world.slurm.put(job(1, held=True))
    world.mirror.written([1])
    world.slurm.errors_of[1] = Retry("broken")
    with pytest.raises(Retry):
        await world.cycle()
    world.slurm.errors_of.clear()
    await world.cycle()
    assert world.row(1) == job(1, held=True)
    await world.cycle()
    assert world.slurm.read == []


async def test_resync_sees_hidden_changes_and_costs_nothing_while_nothing_changed() -> None:
    world = World(job(1, held=True))
    await world.cycle()
    assert not world.mirror.resync_due
    world.clock.now += PERIOD
    assert world.mirror.resync_due
    world.slurm.time += 10  # more than the second of grain has passed
    world.slurm.put(job(1, held=False))
    await world.mirror.resync()
    assert world.row(1) == job(1, held=False)


async def test_after_trouble_the_whole_list_is_asked_for_since_slurmctld_may_be_another() -> None:
    world = World(job(1, held=True))
    await world.cycle()
    world.slurm.jobs_by_id[1] = job(1, held=False)
    world.slurm.changed = 5  # its clock is behind the last answer's
    await world.mirror.resync()
    assert world.row(1) == job(1, held=True)
    world.mirror.distrust()
    await world.mirror.resync()
    assert world.row(1) == job(1, held=False)


async def test_a_listing_never_puts_an_older_record_over_a_newer_one() -> None:
    world = World(job(1), job(2))
    await world.cycle()
    world.slurm.put(job(1, held=True), job(2, held=True))

    async def jobs(since: int | None = None) -> object:
        listing = await FakeSlurm.jobs(world.slurm, since)
        world.slurm.put(job(1, RUNNING))
        world.clock.now += 5
        await world.mirror.refresh()
        return listing

    world.slurm.jobs = jobs  # type: ignore[method-assign]
    await world.mirror.resync()
    assert world.row(1) == job(1, RUNNING)
    assert world.row(2) == job(2, held=True)


async def test_a_listing_takes_a_small_share_of_the_time() -> None:
    world = World(job(1))

    async def slow(since: int | None = None) -> object:
        world.clock.now += 20
        return await FakeSlurm.jobs(world.slurm, since)

    world.slurm.jobs = slow  # type: ignore[method-assign]
    await world.cycle()
    world.clock.now += 20 * DUTY - 1
    assert not world.mirror.resync_due
    world.clock.now += 1
    assert world.mirror.resync_due
    world.slurm.error = Retry("busy")
    with pytest.raises(Retry):
        await world.mirror.resync()
    assert not world.mirror.resync_due


@pytest.mark.parametrize(("states", "interest"), [(RUNNING, []), (COMPLETED, [1, 2])])
async def test_a_job_is_gone_only_when_slurmctld_says_so(states: frozenset[str], interest: list[int]) -> None:
    world = World(job(1, states), job(2, states), interest=interest)
    await world.cycle()
    world.slurm.hidden.add(1)
    world.slurm.purge(2)
    await world.cycle()
    assert world.ids == {1}
    assert [delta.key for delta in world.deltas] == ["2"]
    world.slurm.errors_of[1] = Retry("no answer")
    with pytest.raises(Retry):
        await world.cycle()
    assert world.ids == {1}


async def test_an_answer_in_which_most_jobs_are_missing_is_doubted_first() -> None:
    world = World(*(job(number) for number in range(6)))
    await world.cycle()
    world.slurm.hidden = {1, 2, 3, 4, 5}
    await world.cycle()
    await world.cycle()
    assert (len(world.ids), world.doubted, world.slurm.read) == (6, [5], [])
    assert world.mirror.lost == 5
    world.slurm.hidden = set()
    await world.cycle()
    assert world.mirror.lost == 0
    world.slurm.purge(*range(6))
    await world.cycle()
    assert (len(world.ids), world.doubted) == (6, [5, 6])
    await world.cycle(after=PATIENCE)
    assert (world.ids, world.mirror.lost) == (set(), 0)


async def test_lost_jobs_count_until_slurm_was_asked_about_each() -> None:
    count = VERIFY + 10
    world = World(*(job(number) for number in range(count)))
    await world.cycle()
    world.slurm.purge(*range(count))
    await world.cycle()
    assert world.mirror.lost == count
    await world.cycle(after=PATIENCE)
    assert (len(world.ids), world.mirror.lost) == (10, 10)


async def test_purged_jobs_that_were_over_are_nothing_strange() -> None:
    """Those of which something is left here are asked about, so many in a cycle."""
    count = 2 * VERIFY
    world = World(*(job(number, COMPLETED) for number in range(2 * count)), interest=range(count))
    await world.cycle()
    world.slurm.purge(*range(2 * count))
    await world.cycle()
    assert (len(world.ids), len(world.slurm.read), world.doubted) == (count - VERIFY, VERIFY, [])
    assert world.mirror.lost == 0
    await world.cycle()
    assert world.ids == set()


async def test_a_job_that_cannot_be_read_is_counted_once_and_spoils_nothing() -> None:
    world = World(job(1))
    await world.cycle()
    world.slurm.put(job(2), job(3))
    world.slurm.errors_of[2] = Terminal("bad", reason="JobUnreadable")
    await world.cycle()
    assert (world.ids, world.mirror.malformed) == ({1, 3}, 1)
    await world.cycle()
    assert world.slurm.read == []
    world.slurm.errors_of.clear()
    world.slurm.put(job(2, RUNNING))
    await world.cycle()
    assert world.row(2) == job(2, RUNNING)


async def test_a_refused_token_is_raised() -> None:
    world = World(job(1))
    await world.cycle()
    world.slurm.put(job(2))
    world.slurm.errors_of[2] = Terminal("denied", reason="TokenInvalid")
    with pytest.raises(Terminal):
        await world.cycle()


async def test_an_old_slurm_is_asked_for_changes_only() -> None:
    world = World(job(1), job(2), cheap=False, interest=[2])
    await world.cycle()
    world.slurm.time += 10
    world.slurm.put(job(1, RUNNING))
    await world.cycle()
    assert world.row(1) == job(1, RUNNING)
    world.slurm.purge(1)
    await world.cycle()
    assert world.ids == {2}


async def test_nothing_is_missing_from_a_listing_with_malformed_jobs() -> None:
    world = World(job(1, COMPLETED), job(2, COMPLETED), cheap=False)
    await world.cycle()
    world.slurm.malformed = 1
    world.slurm.hidden = {1}
    world.slurm.put(job(3))
    await world.cycle()
    assert (world.ids, world.slurm.read) == ({1, 2, 3}, [])
