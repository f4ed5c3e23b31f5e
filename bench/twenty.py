"""Scenarios `twenty` and `twenty_strict`: short jobs through a queue that takes two of them at a time.

Kueue tries what did not fit in a BestEffortFIFO queue again a second after quota came back; the head of a
StrictFIFO queue at once.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter

from bench.places import Place
from bench.report import Result
from bench.stage import Scene, scene
from bench.witness import Witness
from k8s_bridge.sandbox.apiserver.kinds import CLUSTERQUEUES
from k8s_bridge.sandbox.world import JobRequest, WorldConfig
from k8s_bridge.sandbox.world.objects import SHARED_QUEUE

_AT_A_TIME = 2
_PER_JOB = 10.0


async def _run(  # noqa: PLR0913 - a scenario's parameters, and what the two differ in
    *, name: str, strategy: str, command: str, directory: Path, jobs: int, place: Place
) -> Result:
    """Seconds from the first sbatch until all is over, and no quota, node or JobSet is in use. Or Unmet."""
    quota = {"cpu": str(_AT_A_TIME), "memory": "64Gi", "pods": "100"}
    witness = Witness()
    async with scene(
        WorldConfig(directory=directory, quota=quota), place=place, command=command, witness=witness
    ) as stage:
        stage.world.storage.patch(CLUSTERQUEUES, "", SHARED_QUEUE, {"spec": {"queueingStrategy": strategy}})
        await stage.start()
        began = perf_counter()
        ids = [await stage.submit(JobRequest(seconds=1.0)) for _ in range(jobs)]
        await stage.world.until(lambda: _is_over(stage, ids), what="all is over", seconds=jobs * _PER_JOB)
        seconds = perf_counter() - began
        await stage.until_gone(*ids, seconds=_PER_JOB)
    measured = {f"{name}.seconds": seconds, f"{name}.seconds_per_round": seconds * _AT_A_TIME / jobs}
    return Result(scenario=name, measured=measured | witness.marks.table(name), detail={"jobs": jobs})


run = partial(_run, name="twenty", strategy="BestEffortFIFO")
run_strict = partial(_run, name="twenty_strict", strategy="StrictFIFO")


def _is_over(stage: Scene, ids: list[int]) -> bool:
    found, jobs = stage.world.timeline, stage.world.jobs
    over = all(job_id in jobs and jobs[job_id].over for job_id in ids)
    unused = not any(amount for queue in found.usage.values() for amount in queue.values())
    return over and unused and not found.nodes and all(jobset.ended for jobset in found.jobsets)
