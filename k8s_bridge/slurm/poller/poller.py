"""Asks Slurm again and again: calmly when nothing moves, quickly when something does, at once when nudged.

It fills the tables and never decides. Trouble with Slurm is reported and tried again, never raised.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from k8s_bridge.core.errors import BridgeError, Retry
from k8s_bridge.kube.backoff import Backoff
from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client.port import SlurmReads
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.poller.doubt import Doubt
from k8s_bridge.slurm.poller.jobs import JobMirror
from k8s_bridge.slurm.poller.nodes import NodeMirror

DEFAULT_PERIOD = 10.0
SOON = 0.05
"""Seconds between the end of a cycle and the next when something was written meanwhile."""
_STOP_SECONDS = 5.0
_NOTHING: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One look at Slurm. Times are monotonic seconds; `error` is None when all of it succeeded."""

    number: int
    started: float
    finished: float
    error: BridgeError | None = None


def _unheard(_: object) -> None:
    """Nobody listens."""


class Poller:
    """Mirrors jobs and nodes of one Slurm into two tables.

    `pace` says how many seconds to wait after a cycle; a slow answer makes the wait as long as itself, so
    that Slurm is never asked more than half of the time. `interest` gives the jobs that the bridge works on
    now; they are read again every `period` seconds. `on_doubt` is told when most jobs vanish at once.
    """

    def __init__(  # noqa: PLR0913  # all but the first three have defaults
        self,
        client: SlurmReads,
        jobs: Table[Job],
        nodes: Table[Node],
        *,
        interest: Callable[[], Iterable[int]] = lambda: _NOTHING,
        pace: Callable[[], float] = lambda: DEFAULT_PERIOD,
        period: float = DEFAULT_PERIOD,
        on_cycle: Callable[[Cycle], None] = _unheard,
        on_doubt: Callable[[int], None] = _unheard,
        clock: Callable[[], float] = time.monotonic,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self.synced = asyncio.Event()
        self.last = Cycle(number=0, started=float("-inf"), finished=float("-inf"))
        self.last_good = self.last
        self.resync_error: BridgeError | None = None
        self._pace = pace
        self._on_cycle = on_cycle
        self._clock = clock
        self._backoff = Backoff(rand=rand)
        self._nudged = self._soon = False
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._resync: asyncio.Task[None] | None = None
        self._jobs = JobMirror(
            client,
            jobs,
            interest=interest,
            period=period,
            clock=clock,
            doubt=Doubt(clock=clock, report=on_doubt),
        )
        self._nodes = NodeMirror(client, nodes)

    @property
    def malformed(self) -> int:
        """Jobs and nodes of the last answers that could not be read."""
        return self._jobs.malformed + self._nodes.malformed

    @property
    def lost(self) -> int:
        """Jobs that were not over, are missing from Slurm's last list, and were not asked about yet."""
        return self._jobs.lost

    def nudge(self) -> None:
        """Something changed in Slurm: look now. Nudges that come before the look are one."""
        self._nudged = True
        self._wake.set()

    def repace(self) -> None:
        """`pace` may say something else now: think again how long to wait."""
        self._wake.set()

    def written(self, *job_ids: int) -> None:
        """These jobs were changed by us: look soon, and read them even if their state is the same.

        Not at once: a hundred writes in a second are not a hundred looks.
        """
        self._jobs.written(job_ids)
        self._soon = True
        self._wake.set()

    def stop(self) -> None:
        """Make `run` return; a second call changes nothing."""
        self._stopping.set()

    async def run(self) -> None:
        """Poll until `stop`. A request under way then has 5 s to end, or ends with its client."""
        work = asyncio.create_task(self._cycles())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            self.nudge()
            await asyncio.wait({work, stopping}, timeout=_STOP_SECONDS)
            for task in (work, stopping, self._resync):
                if task is not None:
                    task.cancel()
        if work.done() and not work.cancelled():
            work.result()

    async def _cycles(self) -> None:
        while not self._stopping.is_set():
            self._nudged = self._soon = False
            cycle = await self._cycle()
            self._tell(cycle)
            await self._pause(cycle)

    async def _cycle(self) -> Cycle:
        """Jobs first: where a job that is over is seen, its nodes are seen idle in the same cycle."""
        started = self._clock()
        try:
            await self._jobs.refresh()
            await self._nodes.refresh()
        except BridgeError as error:
            return self._over(started, error)
        return self._over(started, None)

    def _over(self, started: float, error: BridgeError | None) -> Cycle:
        return Cycle(number=self.last.number + 1, started=started, finished=self._clock(), error=error)

    def _tell(self, cycle: Cycle) -> None:
        self.last = cycle
        if cycle.error is None:
            self.last_good = cycle
            self._backoff.reset()
            self.synced.set()
        else:
            self._jobs.distrust()
            self._nodes.distrust()
        self._on_cycle(cycle)
        self._look_closer_if_due()

    def _look_closer_if_due(self) -> None:
        """Beside the cycles: reading many jobs must not delay the sight of a new one."""
        running = self._resync is not None and not self._resync.done()
        if self.last.error is None and (self._jobs.watch_due or self._jobs.resync_due) and not running:
            self._resync = asyncio.create_task(self._look_closer())

    async def _look_closer(self) -> None:
        try:
            if self._jobs.watch_due:
                await self._jobs.watch()
            if self._jobs.resync_due:
                await self._jobs.resync()
            self.resync_error = None
        except BridgeError as error:
            self.resync_error = error

    async def _pause(self, cycle: Cycle) -> None:
        """Until it is time for the next cycle by the pace of this moment, or a nudge."""
        least = cycle.finished - cycle.started
        if isinstance(cycle.error, Retry):
            least = self._backoff.next(at_least=cycle.error.after)
        while not self._nudged:
            self._wake.clear()
            pace = min(self._pace(), SOON) if self._soon else self._pace()
            seconds = least if isinstance(cycle.error, Retry) else max(pace, least)
            try:
                async with asyncio.timeout(cycle.finished + seconds - self._clock()):
                    await self._wake.wait()
            except TimeoutError:
                return
