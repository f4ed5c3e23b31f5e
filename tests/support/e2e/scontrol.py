"""Does the rows of scontrol_table on a real cluster, all of a stage at once, and says what became of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm
from k8s_bridge.sandbox.world import Unmet, World
from support.e2e.scontrol_trial import CAP, OWNER, Trial
from support.scontrol_table import Outcome, Row, Stage

LIMIT = "10"
SPEC = {"enablePrioritySync": True, "maxUserPriority": CAP}
CONF = "Licenses=matlab:50\nPartitionName=elsewhere Nodes=ALL State=UP"
Check = Callable[[Trial], Awaitable[None]]

WAITING: Mapping[Outcome, Check] = {
    Outcome.REFUSED: Trial.queued,
    Outcome.UNSEEN: Trial.queued,
    Outcome.HELD_AGAIN: Trial.held_again,
    Outcome.KEPT: Trial.queued,
    Outcome.RESPECTED: Trial.respected_and_queued,
    Outcome.REPLANNED: Trial.replanned,
    Outcome.INELIGIBLE: Trial.ineligible,
    Outcome.LET_GO: Trial.let_go,
    Outcome.UNMET: Trial.unmet,
    Outcome.PRIORITY: Trial.prioritised,
    Outcome.GONE: Trial.gone,
}
RUNNING: Mapping[Outcome, Check] = {
    Outcome.REFUSED: Trial.untouched,
    Outcome.RUNS_ON: Trial.untouched,
    Outcome.HOLD_STAYS: Trial.hold_stays,
    Outcome.RESPECTED: Trial.held_and_released,
    Outcome.SUSPENDED: Trial.suspended,
    Outcome.STARTS_AGAIN: Trial.starts_again,
    Outcome.FOLLOWED: Trial.followed,
    Outcome.PRIORITY: Trial.prioritised,
    Outcome.GONE: Trial.gone,
}
_NEVER_RUNS = {Outcome.INELIGIBLE, Outcome.LET_GO, Outcome.UNMET, Outcome.GONE}


async def submit(slurm: RealSlurm, *options: str, seconds: float) -> int:
    """A held job of the owner."""
    script = f"#!/bin/sh\nexec sleep {seconds:g}\n"
    return await slurm.sbatch("--hold", f"--time={LIMIT}", "--requeue", *options, script=script, user=OWNER)


async def attempt(trial: Trial, check: Check) -> str:
    """ "" when the row holds, or what is wrong."""
    try:
        await trial.do()
        if bool(trial.refused) is not (trial.row.outcome is Outcome.REFUSED):
            return f"Slurm said: {trial.refused or 'nothing'}"
        await check(trial)
    except (AssertionError, CommandFailed, Unmet) as error:
        return str(error).partition("\n")[0]
    return ""


async def ends_well(trial: Trial, wrong: str) -> str:
    """After the quota is there: what may run runs to its end; the rest is cancelled."""
    if wrong:
        return wrong
    try:
        if trial.row.outcome not in _NEVER_RUNS:
            await trial.world.until_state(trial.job_id, "COMPLETED", seconds=90)
    except (AssertionError, CommandFailed, Unmet) as error:
        return str(error).partition("\n")[0]
    return ""


async def waiting(world: World, slurm: RealSlurm, rows: tuple[Row, ...]) -> dict[Row, str]:
    """What is wrong with each row of that stage, "" for nothing."""
    hog = await submit(slurm, "-n8", "--partition=urgent", seconds=600)
    await world.until_state(hog, "RUNNING")
    ids = [await submit(slurm, "-n1", "--mem=100", "--partition=batch", seconds=1) for _ in rows]
    for job_id in ids:
        await world.until(
            lambda job_id=job_id: job_id in world.jobs and world.workload(job_id),
            what=f"job {job_id} is queued",
        )
    trials = [Trial(world, slurm, row, job_id=job_id, hog=hog) for row, job_id in zip(rows, ids, strict=True)]
    first = await asyncio.gather(*(attempt(trial, WAITING[trial.row.outcome]) for trial in trials))
    await world.scancel(hog)
    both = zip(trials, first, strict=True)
    last = await asyncio.gather(*(ends_well(trial, wrong) for trial, wrong in both))
    await _cancel(world, ids)
    return dict(zip(rows, last, strict=True))


async def running(world: World, slurm: RealSlurm, rows: tuple[Row, ...]) -> dict[Row, str]:
    """The same for the other stage."""
    hog = await submit(slurm, "-n1", "--partition=urgent", seconds=600)
    ids = [await submit(slurm, "-n1", "--mem=100", "--partition=batch", seconds=600) for _ in rows]
    for job_id in (hog, *ids):
        await world.until_state(job_id, "RUNNING", seconds=60)
    trials = [Trial(world, slurm, row, job_id=job_id, hog=hog) for row, job_id in zip(rows, ids, strict=True)]
    found = await asyncio.gather(*(attempt(trial, RUNNING[trial.row.outcome]) for trial in trials))
    await _cancel(world, [hog, *ids])
    return dict(zip(rows, found, strict=True))


STAGES: Mapping[Stage, Callable[[World, RealSlurm, tuple[Row, ...]], Awaitable[dict[Row, str]]]] = {
    Stage.WAITING: waiting,
    Stage.RUNNING: running,
}


async def _cancel(world: World, ids: list[int]) -> None:
    for job_id in ids:
        if not world.jobs[job_id].over:
            await world.scancel(job_id)
