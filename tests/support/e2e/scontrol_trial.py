"""One row of scontrol_table and its job: what is done to the job, and what is to be seen of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADS
from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm
from k8s_bridge.sandbox.world import World
from support.scontrol_table import By, Row

OWNER = "games"
CAP = 3000
LONG = 60.0
"""Seconds for what waits out the grace of a foreign hold."""
SCHEDULED = 2 * LONG
"""Seconds for what waits for Slurm's scheduler, which looks once a minute when nothing else happens."""
STILL = 3.0
"""Seconds in which a change would have been seen: the bridge reads what it works on every second."""
_MADE_ALL_THE_SAME = "Requested partition configuration not available now"
_ONCE_MORE = "Resource temporarily unavailable"
"""24.11 changes no partition while its backfill scheduler is at work."""


class Trial:
    """One row and its job."""

    def __init__(self, world: World, slurm: RealSlurm, row: Row, *, job_id: int, hog: int) -> None:
        self.world, self.slurm, self.row, self.job_id = world, slurm, row, job_id
        self._names = {"JOB": str(job_id), "HOG": str(hog)}
        self.refused = ""
        self.before = self.jobset()
        self.nodes = world.jobs[job_id].nodes

    # -- what is done ---------------------------------------------------------------------------

    async def do(self) -> None:
        """The row's command; what Slurm refuses is noted."""
        user = OWNER if self.row.by is By.OWNER else "root"
        try:
            await self._command(*self.row.command.split(), user=user)
        except CommandFailed as error:
            if _MADE_ALL_THE_SAME not in str(error):
                self.refused = str(error)

    async def release(self) -> None:
        """Whoever may, lets it go on."""
        await self._command("release", "JOB", user="root")

    async def _command(self, *words: str, user: str) -> None:
        said = []
        for word in words:
            head, sign, tail = word.rpartition("=")
            said.append(f"{head}{sign}{self._named(tail)}")
        argv = said if said[0] == "scancel" else ["scontrol", *said]
        for _ in range(50):
            try:
                await self.slurm.world.run(*argv, user=user)
            except CommandFailed as error:
                if _ONCE_MORE not in str(error):
                    raise
                await asyncio.sleep(0.1)
            else:
                return

    def _named(self, text: str) -> str:
        kind, colon, name = text.rpartition(":")
        return f"{kind}{colon}{self._names.get(name, name)}"

    # -- what is seen ---------------------------------------------------------------------------

    def jobset(self) -> Mapping[str, Any] | None:
        """Its JobSet, unless that is being deleted."""
        found = (
            o for o in self.world.of_job(JOBSETS, self.job_id) if "deletionTimestamp" not in o["metadata"]
        )
        return next(found, None)

    def same_jobset(self) -> bool:
        """Nothing was asked anew."""
        return (
            (found := self.jobset()) is not None
            and self.before is not None
            and _uid(found) == _uid(self.before)
        )

    async def until(self, condition: Callable[[], object], what: str, seconds: float = LONG) -> None:
        """Wait; the complaint names the row."""
        await self.world.until(condition, what=f"{self.row.command}: {what}", seconds=seconds)

    async def says(self, *words: str) -> None:
        """Until the job's text has all of them."""
        await self.until(
            lambda: all(word in self.world.text(self.job_id) for word in words), f"the job says {words}"
        )

    async def stays(self, condition: Callable[[], bool], what: str) -> None:
        """It holds now and for as long as a change would take."""
        for _ in range(int(STILL / 0.1)):
            assert condition(), f"{self.row.command}: {what}, but {self.world.jobs.get(self.job_id)}"
            await asyncio.sleep(0.1)

    async def runs(self, *, restarts: int, seconds: float = LONG) -> None:
        """Until it runs, after so many restarts."""

        def there() -> bool:
            job = self.world.jobs[self.job_id]
            return job.running and job.restarts == restarts

        await self.until(there, f"it runs after {restarts} restarts", seconds)

    async def queued(self) -> None:
        """Nothing was taken from it, and it has not started."""
        job = self.world.jobs
        await self.stays(lambda: self.same_jobset() and job[self.job_id].held, "it waits as before")
        self._not_started()

    async def held_again(self) -> None:
        """The hold is back, by slurmctld itself: the world sees some moments only, and each a little late."""
        await self._recorded("Priority=0 ")
        await self.stays(self.same_jobset, "its capacity is asked for as before")
        await self._recorded("JobState=PENDING Reason=JobHeldAdmin")
        self._not_started()

    async def untouched(self) -> None:
        """It runs as before."""

        def same() -> bool:
            job = self.world.jobs[self.job_id]
            return job.running and job.restarts == 0 and job.nodes == self.nodes and self.same_jobset()

        await self.stays(same, "it runs on")

    def _not_started(self) -> None:
        assert not [start for start in self.world.timeline.starts if start.job_id == self.job_id]

    async def _recorded(self, words: str) -> None:
        """Until `scontrol show job` has the words."""
        for _ in range(int(LONG / 0.5)):
            record = await self.slurm.scontrol("show", "job", str(self.job_id))
            if words in record:
                return
            await asyncio.sleep(0.5)
        raise AssertionError(f"{words} is not in {record}")

    def _inactive(self) -> bool:
        workload = self.world.workload(self.job_id)
        return workload is not None and workload["spec"].get("active") is False

    # -- outcomes -------------------------------------------------------------------------------

    async def respected(self) -> None:
        await self.says("HeldByOther")
        await self.until(self._inactive, "its quota goes back")
        assert self.world.jobs[self.job_id].held
        await self.release()

    async def respected_and_queued(self) -> None:
        await self.respected()
        await self.until(
            lambda: self.world.jobs[self.job_id].reason == "JobHeldAdmin", "it is held for Kueue"
        )

    async def replanned(self) -> None:
        await self.until(lambda: self.jobset() and not self.same_jobset(), "it has another JobSet")
        before, after = self.before, self.jobset()
        assert before
        assert after
        assert _asked(after) != _asked(before)

    async def no_jobset(self) -> None:
        await self.until(lambda: not self.world.of_job(JOBSETS, self.job_id), "its JobSet is gone")

    async def ineligible(self) -> None:
        await self.no_jobset()
        waits = "waits for its dependency" if "Dependency" in self.row.command else "is not to start before"
        await self.says(waits)

    async def let_go(self) -> None:
        await self.no_jobset()
        await self.says("NotManaged")

    async def unmet(self) -> None:
        await self.no_jobset()
        await self.says("Refused")

    async def prioritised(self) -> None:
        def there() -> bool:
            workload = self.world.workload(self.job_id)
            return workload is not None and workload["spec"]["priority"] == CAP

        await self.until(there, f"its Workload has priority {CAP}")
        await self._recorded(f"Comment=wm:prio=5000 wm:prio-applied={CAP}")

    async def hold_stays(self) -> None:
        await self.untouched()
        workload = self.world.workload(self.job_id)
        assert workload
        self.world.delete(WORKLOADS, workload["metadata"]["name"])
        await self.says("HeldByOther")
        assert self.world.jobs[self.job_id].held
        await self.release()
        await self.runs(restarts=1)

    async def held_and_released(self) -> None:
        await self.respected()
        await self.runs(restarts=1)

    async def suspended(self) -> None:
        await self.until(lambda: self.world.jobs[self.job_id].state == "SUSPENDED", "it is suspended")
        await self.stays(self.same_jobset, "its capacity stays")
        await self._command("resume", "JOB", user="root")
        await self.until(lambda: self.world.jobs[self.job_id].running, "it runs again")
        await self.untouched()

    async def starts_again(self) -> None:
        await self.runs(restarts=1, seconds=SCHEDULED)
        assert self.world.jobs[self.job_id].nodes == self.nodes
        assert self.same_jobset()

    async def followed(self) -> None:
        await self.until(
            lambda: _deadline(self.jobset()) > _deadline(self.before), "its pods may live longer"
        )
        await self.untouched()

    async def gone(self) -> None:
        await self.world.until_state(self.job_id, "CANCELLED", seconds=LONG)
        await self.no_jobset()


def _uid(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["uid"])


def _asked(jobset: Mapping[str, Any]) -> tuple[str, str]:
    meta = jobset["metadata"]
    return meta["annotations"][naming.SHAPE], meta["labels"][naming.QUEUE_NAME]


def _deadline(jobset: Mapping[str, Any] | None) -> int:
    return int(jobset["metadata"]["annotations"][naming.DEADLINE]) if jobset else 0
