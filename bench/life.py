"""Scenario `life`: jobs of ten shapes through a queue that holds a third of them, until nothing is left."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from bench.calls import Calls, Kind
from bench.marks import Mark, spread
from bench.report import Result
from bench.stage import Scene, scene
from bench.witness import Witness
from k8s_bridge.sandbox.world import Backend, JobRequest, WorldConfig

SHAPES = (
    JobRequest(name="one-task"),
    JobRequest(name="two-tasks", ntasks=2),
    JobRequest(name="threads", cpus_per_task=2),
    JobRequest(name="two-nodes", nodes="2"),
    JobRequest(name="uneven", nodes="2", ntasks=3),
    JobRequest(name="per-node", nodes="2", ntasks_per_node=2),
    JobRequest(name="memory", mem=512),
    JobRequest(name="memory-per-cpu", ntasks=2, mem_per_cpu=256),
    JobRequest(name="limited", time=5),
    JobRequest(name="range", nodes="1-2", ntasks=2),
)
_CPUS = 2.0
"""What a job of these shapes needs on average."""
_SETTLE = 2.0
RATE = 5.0
"""Jobs submitted in a second: their stages are those of a job, not of a crowd at a door."""
_SECONDS = 5.0
"""How long a job runs: long enough that they wait for each other's quota."""
_PER_JOB = 4.0
"""Seconds that the run may take for each job, above the first minute."""


async def run(*, command: str, directory: Path, jobs: int, slurm: Backend, rate: float = RATE) -> Result:
    """All stages and calls of one run. Unmet when jobs do not end. `rate` 0 submits all jobs at once."""
    quota = {"cpu": str(max(4, round(jobs * _CPUS / 3))), "memory": "512Gi", "pods": "200"}
    machine = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    config = WorldConfig(directory=directory, slurm=slurm, quota=quota, machine=machine, machines=4)
    witness = Witness()
    async with scene(config, command=command, witness=witness) as stage:
        bridge = await stage.start()
        await asyncio.sleep(_SETTLE)
        slurm_before, kube_before = witness.slurm.copy(), witness.kube.copy()
        began, cpu = perf_counter(), bridge.usage().cpu
        await _submit(stage, jobs, rate=rate)
        await _all_gone(stage, jobs)
        seconds = perf_counter() - began
        usage = bridge.usage()
    calls = spread(witness.slurm_calls[job_id] for job_id in witness.marks.jobs)
    return Result(
        scenario="life",
        measured={
            **_stages(witness),
            **_calls(witness.slurm.since(slurm_before), witness.kube.since(kube_before), jobs),
            "life.slurm_calls_per_job.p50": calls.p50,
            "life.slurm_calls_per_job.most": calls.most,
            "life.seconds": seconds,
            "life.cpu_ms_per_job": (usage.cpu - cpu) * 1000 / jobs,
        },
        detail={
            "jobs": jobs,
            "slurm": witness.slurm.since(slurm_before).table(),
            "kubernetes": witness.kube.since(kube_before).table(),
            "counts": {name: found.count for name, found in witness.marks.stages().items()},
        },
    )


async def _submit(stage: Scene, jobs: int, *, rate: float) -> None:
    for number in range(jobs):
        job_id = await stage.world.sbatch(replace(SHAPES[number % len(SHAPES)], seconds=_SECONDS))
        stage.witness.marks.stamp(job_id, Mark.SUBMITTED, perf_counter())
        await asyncio.sleep(1 / rate if rate else 0)


async def _all_gone(stage: Scene, jobs: int) -> None:
    marks = stage.witness.marks

    def gone() -> bool:
        return sum(Mark.GONE in found for found in marks.jobs.values()) >= jobs

    await stage.world.until(gone, what="nothing is left of any job", seconds=60 + jobs * _PER_JOB)


def _stages(witness: Witness) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, values in witness.marks.stages().items():
        found[f"life.{name}.p50_ms"] = values.p50 * 1000
        found[f"life.{name}.p99_ms"] = values.p99 * 1000
    return found


def _calls(slurm: Calls, kube: Calls, jobs: int) -> dict[str, float]:
    mutations, read_backs = slurm.of(Kind.MUTATION) / jobs, slurm.of(Kind.READ) / jobs
    return {
        "life.slurm_mutations_per_job": mutations,
        "life.slurm_read_backs_per_job": read_backs,
        "life.slurm_calls_per_job.mean": mutations + read_backs,
        "life.slurm_texts_per_job": slurm.of(Kind.TEXT) / jobs,
        "life.slurm_polls": slurm.of(Kind.POLL),
        "life.kubernetes_mutations_per_job": kube.of(Kind.MUTATION) / jobs,
        "life.kubernetes_calls_per_job": kube.total / jobs,
    }
