"""Keeps the table of jobs up to date, by the cheapest questions that will do.

`jobs/state/` (v0.0.42 and later) tells new ids and changed states; those jobs are read one by one. It does
not tell a changed hold, constraint or time limit: so jobs of interest are read again now and then, jobs
that were written in the next cycle, and everything by `resync`, which costs nothing while nothing changed.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Container, Iterable, Mapping

from k8s_bridge.core.errors import BridgeError, Missing, Terminal
from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client.port import SlurmReads
from k8s_bridge.slurm.client.results import Glance, Listing, Unchanged
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.poller import plan, tasks
from k8s_bridge.slurm.poller.doubt import Doubt

DUTY = 50.0
"""A full listing takes at most 1/50 of the time: 20,000 jobs cost slurmrestd 20 s."""
VERIFY = 64
"""Missing jobs that are read in one cycle."""
WATCHED = 16
"""Jobs of interest that are read in one period: hundreds may wait for quota, and reading costs slurmrestd."""
_NEVER = float("-inf")


class JobMirror:
    """`refresh` is one cycle; `watch` and `resync` may run beside it. Times in (monotonic) seconds."""

    def __init__(  # noqa: PLR0913  # made in one place, by the poller
        self,
        client: SlurmReads,
        table: Table[Job],
        *,
        interest: Callable[[], Iterable[int]],
        period: float,
        clock: Callable[[], float],
        doubt: Doubt,
    ) -> None:
        self.malformed = 0
        self.lost = 0
        """Jobs that were not over, are missing from the last list, and were not asked about yet."""
        self._client = client
        self._table = table
        self._interest = interest
        self._period = period
        self._clock = clock
        self._doubt = doubt
        self._since: int | None = None
        self._listed = False
        self._resync_at = _NEVER
        self._watched_at = _NEVER
        self._agreed: Mapping[int, Glance] | None = None
        self._glances: Mapping[int, Glance] = {}
        self._written: set[int] = set()
        self._read_at: dict[int, float] = {}
        self._unreadable: dict[int, frozenset[str]] = {}

    def written(self, job_ids: Iterable[int]) -> None:
        """These were changed by us: read them in the next cycle, whatever their state says."""
        self._written.update(job_ids)

    def distrust(self) -> None:
        """Slurmctld may have been restarted: what it said of "since" counts no more."""
        self._since = None

    @property
    def resync_due(self) -> bool:
        """Whether `resync` should be called now."""
        return self._listed and self._clock() >= self._resync_at

    async def resync(self) -> None:
        """See changes that states do not show. Rows that are read one by one meanwhile are newer and stay."""
        started = self._clock()
        try:
            await self._list(self._since)
        except BridgeError:
            self._resync_in(DUTY * (self._clock() - started))
            raise

    @property
    def watch_due(self) -> bool:
        """Whether `watch` should be called now."""
        return self._listed and self._clock() - self._watched_at >= self._period

    async def watch(self) -> None:
        """Read jobs of interest that were not read for a period, the longest unread first, one at a time."""
        self._watched_at = self._clock()
        due = self._clock() - self._period
        waiting = ((self._read_at.get(job_id, _NEVER), job_id) for job_id in set(self._interest()))
        for at, job_id in heapq.nsmallest(WATCHED, waiting):
            if at <= due and str(job_id) in self._table:
                await self._read_one(job_id)

    async def refresh(self) -> None:
        """Bring the table up to date with what was true when this was called."""
        written, self._written = self._written, set()
        try:
            await self._refresh(written)
        except BaseException:
            self._written |= written
            raise

    async def _refresh(self, written: set[int]) -> None:
        states = await self._client.job_states() if self._listed else None
        if states is not None and states is self._agreed:
            await self._read(written & states.keys())
            return
        if states is None:
            ids = await self._list(self._since)
            await self._read(written)
        else:
            ids = frozenset(states)
            self._derive(states)
            changes = plan.compare(states, self._table.values())
            self._agreed = None if changes.moved or changes.gone else states
            moved = {i for i in changes.moved if self._unreadable.get(i) != states[i].states}
            if plan.relist_is_cheaper(len(moved), listed=len(states)):
                await self._list(None)
            else:
                await self._read((moved | written) & ids)
                self._unreadable = {i: states[i].states for i in self._unreadable if i in states}
        await self._drop(ids)

    def _derive(self, states: Mapping[int, Glance]) -> None:
        """Array tasks come and go by the thousand: what the states tell of them is not asked for."""
        for job in tuple(tasks.derive(self._glances, states, row=lambda i: self._table.get(str(i)))):
            self._table.upsert(job)
        self._glances = states

    async def _list(self, since: int | None) -> frozenset[int]:
        """List everything; the ids that Slurm has. Those of the table when nothing changed."""
        started = self._clock()
        result = await self._client.jobs(since)
        if isinstance(result, Listing):
            self._take(result, started=started)
            self._resync_in(DUTY * (self._clock() - started))
        else:
            self._resync_in(0.0)
        if isinstance(result, Unchanged) or result.malformed:
            return frozenset(row.job_id for row in self._table.values())
        return frozenset(job.job_id for job in result.items)

    def _resync_in(self, seconds: float) -> None:
        self._resync_at = self._clock() + max(self._period, seconds)

    def _take(self, listing: Listing[Job], *, started: float) -> None:
        newer = {job_id for job_id, at in self._read_at.items() if at >= started}
        older = (job for job in listing.items if job.job_id not in newer)
        self._table.replace((self._sized(job) for job in older), keep=lambda _: True)
        self._read_at = {job_id: self._read_at[job_id] for job_id in newer}
        self._agreed = None
        # One second less: the server's time has that grain, and more may have happened in its last second.
        # After what may not be the whole truth all is asked for again: the rest need not change to come back.
        whole = listing.items and not listing.malformed
        self._since = listing.last_update - 1 if whole and listing.last_update else None
        self.malformed = listing.malformed
        self._listed = True

    async def _read(self, ids: Iterable[int]) -> None:
        """Read jobs one by one; the client bounds how many at a time. Trouble is raised when all are done."""
        results = await asyncio.gather(*(self._read_one(i) for i in ids), return_exceptions=True)
        troubles = [result for result in results if isinstance(result, BaseException)]
        del results  # an error that its own frame refers to lies about, with all that it knows of
        if troubles:
            raise troubles.pop(0)

    async def _read_one(self, job_id: int) -> None:
        started = self._clock()
        try:
            job = await self._client.job(job_id)
        except Missing:
            self._forget(job_id)
        except Terminal as error:
            if error.reason != "JobUnreadable":
                raise
            self.malformed += 1
            row = self._table.get(str(job_id))
            self._unreadable[job_id] = row.states if row else frozenset()
        else:
            self._unreadable.pop(job_id, None)
            if started < self._read_at.get(job_id, _NEVER):
                return  # a later question was answered sooner
            self._read_at[job_id] = started
            if self._table.upsert(self._sized(job)) is not None:
                self._agreed = None

    def _sized(self, job: Job) -> Job:
        return tasks.sized(job, self._glances.get(job.job_id))

    def _forget(self, job_id: int) -> None:
        self._read_at.pop(job_id, None)
        self._unreadable.pop(job_id, None)
        self._table.remove(str(job_id))
        self._agreed = None

    async def _drop(self, listed: frozenset[int]) -> None:
        """Remove rows that Slurm does not list.

        Each only when slurmctld says that there is no such job, but for those that were over and nothing of
        which is left here: they are purged in time, by the hundred thousand, and nothing rests on them.
        """
        rows = self._table.values()
        missing = [row for row in rows if row.job_id not in listed]
        wanted = set(self._interest()) if missing else set()
        purged = {row.job_id for row in missing if tasks.purged(row) or _is_over(row, wanted)}
        for job_id in purged:
            self._forget(job_id)
        gone = [row for row in missing if row.job_id not in purged]
        believed = self._doubt.believes(plan.suspicious(gone, rows), lost=len(gone))
        asked = gone[:VERIFY] if believed else []
        self.lost = sum(1 for row in gone[len(asked) :] if not row.terminal)
        await self._read([row.job_id for row in asked])


def _is_over(row: Job, wanted: Container[int]) -> bool:
    return row.terminal and row.unit_id not in wanted
