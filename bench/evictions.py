"""Scenario `evictions`: jobs that run lose their capacity to a Job of higher priority, and run again."""

from __future__ import annotations

from pathlib import Path

from bench.places import Place
from bench.report import Result
from bench.stage import Scene, scene
from bench.witness import Witness
from k8s_bridge.sandbox.world import JobRequest, WorldConfig
from k8s_bridge.sandbox.world.config import HIGH, TEAM_B

_AT_A_TIME = 2
_WITHIN = 60.0


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """From Kueue's word to a job that is pending again. Unmet when one does not complete after that."""
    quota = {"cpu": str(_AT_A_TIME), "memory": "64Gi", "pods": "100"}
    witness = Witness()
    async with scene(
        WorldConfig(directory=directory, quota=quota), place=place, command=command, witness=witness
    ) as stage:
        await stage.start()
        for number in range(0, jobs, _AT_A_TIME):
            await _preempt(stage, f"urgent-{number}", jobs=min(_AT_A_TIME, jobs - number))
    restarts = [job.restarts for job in stage.world.jobs.values()]
    assert restarts == [1] * jobs, f"restarts of the jobs: {restarts}"
    return Result(scenario="evictions", measured=witness.marks.table("evictions"), detail={"jobs": jobs})


async def _preempt(stage: Scene, name: str, *, jobs: int) -> None:
    """Fill the queue, take all of it away at once, and wait until everybody has had their run."""
    world = stage.world
    ids = [await stage.submit(JobRequest(seconds=3.0)) for _ in range(jobs)]
    for job_id in ids:
        await world.until_state(job_id, "RUNNING", seconds=_WITHIN)
    world.submit_job(name, queue=TEAM_B, priority=HIGH, cpus=_AT_A_TIME, seconds=0.5)
    for job_id in ids:
        await world.until_state(job_id, "COMPLETED", seconds=_WITHIN)
    await stage.until_gone(*ids, seconds=_WITHIN)
