"""Lets one fault strike one job at one stage of its life, and says what becomes of the job."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.faults import Fault
from k8s_bridge.sandbox.world import JobRequest, Unmet, World, check
from k8s_bridge.sandbox.world.config import URGENT
from support.simulation import Simulation, simulation

LASTS = 60.0
"""Seconds that a fault lasts: far longer than a job needs, whatever chance makes of the fault."""
WITHIN = 1500.0
JOB = JobRequest(name="victim", nodes="2", ntasks=4, seconds=2.0)
HOG = JobRequest(name="hog", partition=URGENT, ntasks=8, seconds=3.0)


class Stage(StrEnum):
    """Where the job is when the fault begins."""

    SUBMITTED = "is submitted"
    WAITING = "waits for quota"
    STARTING = "its pods start"
    RUNNING = "runs"
    ENDING = "has ended"


class Outcome(Enum):
    """What becomes of it, in a word and in a sentence. In all of them nothing is lost and nothing is left."""

    UNDISTURBED = "undisturbed", "It runs once and everything goes back while the fault lasts."
    NODES_LATER = "nodes later", "It runs once; its nodes and quota go back when the fault is over."
    LATER = "later", "It goes on when the fault is over, and runs once."
    AGAIN = "again", "It loses its nodes, is requeued, and runs on new ones while the fault lasts."
    AGAIN_LATER = "again, later", "The same; it runs when the fault is over."
    NOTHING = "-", "There is nothing that the fault could strike."

    def __init__(self, word: str, text: str) -> None:
        self.word = word
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    over: bool
    given_back: bool
    restarts: int


async def outcome(fault: Fault, stage: Stage, **spec: object) -> tuple[Outcome, int]:
    """What becomes of the job, and how often the fault struck anything at all.

    `spec` is laid over the WorkloadMixing's. AssertionError or Unmet when a job is lost, something is left,
    or an invariant does not hold.
    """
    async with simulation(spec=spec) as sim:
        reach = _AT.get(stage)
        job_id = await reach(sim) if reach else None
        if not await sim.faults.begin(fault, victim=job_id):
            return Outcome.NOTHING, 0
        if job_id is None:
            job_id = await sim.world.sbatch(JOB)
        seen = await _while_it_lasts(sim.world, job_id)
        await sim.faults.end_all()
        await sim.world.until_quiet(seconds=WITHIN)
        assert [verdict for verdict in check(sim.world.timeline) if not verdict.holds] == []
        assert {job.state for job in sim.world.jobs.values()} == {"COMPLETED"}
        judged = _judged(seen, restarts=sim.world.jobs[job_id].restarts)
        return judged, sim.faults.strikes[fault.name]


async def _while_it_lasts(world: World, job_id: int) -> _Seen:
    def done() -> bool:
        return world.jobs[job_id].over and not world.of_job(JOBSETS, job_id)

    try:
        await world.until(done, what="it is over and given back", seconds=LASTS)
    except Unmet:
        await world.slurm.refresh()
    job = world.jobs[job_id]
    return _Seen(over=job.over, given_back=done(), restarts=job.restarts)


def _judged(seen: _Seen, *, restarts: int) -> Outcome:
    if restarts:
        return Outcome.AGAIN if seen.over else Outcome.AGAIN_LATER
    if seen.given_back:
        return Outcome.UNDISTURBED
    return Outcome.NODES_LATER if seen.over else Outcome.LATER


async def _waiting(sim: Simulation) -> int:
    hog = await sim.world.sbatch(HOG)
    await sim.world.until_state(hog, "RUNNING")
    job_id = await sim.world.sbatch(JOB)
    await sim.world.until(lambda: sim.world.workload(job_id), what="it is queued")
    await asyncio.sleep(0.5)
    return job_id


async def _starting(sim: Simulation) -> int:
    job_id = await sim.world.sbatch(JOB)
    await sim.world.until(lambda: len(_bound(sim.world, job_id)) == 2, what="its pods are bound")
    return job_id


def _bound(world: World, job_id: int) -> list[object]:
    return [pod for pod in world.timeline.pods if pod.job_id == job_id]


async def _running(sim: Simulation) -> int:
    job_id = await sim.world.sbatch(JOB)
    await sim.world.until_state(job_id, "RUNNING")
    await asyncio.sleep(0.5)
    return job_id


async def _ending(sim: Simulation) -> int:
    job_id = await sim.world.sbatch(JOB)
    await sim.world.until_state(job_id, "COMPLETED")
    return job_id


_AT: Mapping[Stage, Callable[[Simulation], Awaitable[int]]] = {
    Stage.WAITING: _waiting,
    Stage.STARTING: _starting,
    Stage.RUNNING: _running,
    Stage.ENDING: _ending,
}
