"""Scenario `life`: jobs of ten shapes through a queue that holds a third of them, until nothing is left."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from bench.calls import Calls, Kind
from bench.marks import spread
from bench.places import Place
from bench.report import Result
from bench.stage import Scene, scene
from bench.witness import Witness
from k8s_bridge.sandbox.world import JobRequest, WorldConfig

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
_SECONDS = 5.0
"""How long a job runs: long enough that they wait for each other's quota."""
_PER_JOB = 4.0
"""Seconds that the run may take for each job, above the first minute."""


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """All stages and calls of one run. Unmet when jobs do not end."""
    cpus = min(place.cpus, max(4, round(jobs * _CPUS / 3)))
    quota = {"cpu": str(cpus), "memory": "512Gi", "pods": "200"}
    machine = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    config = WorldConfig(directory=directory, quota=quota, machine=machine, machines=4)
    witness = Witness()
    async with scene(config, place=place, command=command, witness=witness) as stage:
        bridge = await stage.start()
        await asyncio.sleep(_SETTLE)
        slurm_before, kube_before = witness.slurm.copy(), witness.kube.copy()
        began, cpu = perf_counter(), bridge.usage().cpu
        ids = await _submit(stage, jobs, rate=place.rate)
        await stage.until_gone(*ids, seconds=60 + jobs * _PER_JOB)
        seconds = perf_counter() - began
        usage = bridge.usage()
    calls = spread(witness.slurm_calls[job_id] for job_id in witness.marks.jobs)
    return Result(
        scenario="life",
        measured={
            **witness.marks.table("life"),
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


async def _submit(stage: Scene, jobs: int, *, rate: float) -> list[int]:
    ids = []
    for number in range(jobs):
        ids.append(await stage.submit(replace(SHAPES[number % len(SHAPES)], seconds=_SECONDS)))
        await asyncio.sleep(1 / rate)
    return ids


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
