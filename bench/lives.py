"""Scenario `lives`: many jobs come and go, and the bridge is no larger for it.

Most are cancelled while they wait for their turn, and some of each round run: what a job leaves behind shows
either way, and 100,000 take half an hour.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.bridge import Bridge, eventually
from bench.places import Place
from bench.report import Result
from bench.stage import Scene, scene
from bench.witness import Witness
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.slurm_fake.cluster import Cluster
from k8s_bridge.sandbox.world import JobRequest, WorldConfig
from k8s_bridge.sandbox.world.config import BATCH, NORMAL
from k8s_bridge.sandbox.world.fake_side import FakeSide

ROUND = 1_000
RUN = 20
"""Jobs of a round that run to their end."""
_IN_FLIGHT = 40
_LONG = 86_400.0
_WITHIN = 300.0
_WARM = 4
"""Rounds that are not counted: pools and caches fill."""
_FEW = 3
"""Rounds of which the median counts."""


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """Memory of the bridge after each round, in MiB. Unmet when a round does not end."""
    partition = {"partitionName": BATCH, "workloadPriorityClass": NORMAL, "maxInFlight": _IN_FLIGHT}
    config = WorldConfig(
        directory=directory,
        quota={"cpu": str(_IN_FLIGHT), "memory": "512Gi", "pods": "200"},
        machine={"cpu": "64", "memory": "256Gi", "pods": "110"},
        spec={"partitionMappings": [partition]},
    )
    async with scene(config, place=place, command=command, witness=Witness(stamping=False)) as stage:
        _purge_after(stage, _LONG)
        bridge = await stage.start()
        began = perf_counter()
        sizes = [await _round(stage, bridge, number) for number in range(max(1, jobs // ROUND))]
        seconds = perf_counter() - began
    return Result(scenario="lives", measured=_measured(sizes, seconds=seconds), detail={"rss_mib": sizes})


def _purge_after(stage: Scene, seconds: float) -> Cluster:
    side = stage.world.slurm
    assert isinstance(side, FakeSide), "real Slurm purges by its own MinJobAge"
    cluster = side.slurm.cluster
    cluster.settings = replace(cluster.settings, min_job_age=seconds)
    return cluster


async def _round(stage: Scene, bridge: Bridge, number: int) -> float:
    """A thousand jobs from sbatch to nothing left; then the bridge's size in MiB."""
    world = stage.world
    runners = [await world.sbatch(JobRequest(name="runs", seconds=0.0)) for _ in range(RUN)]
    await _over(stage, runners)
    waiters = [await world.sbatch(JobRequest(name="waits", seconds=_LONG)) for _ in range(ROUND - RUN)]
    await world.until(
        lambda: len(world.storage.list(JOBSETS)) >= _IN_FLIGHT, what="some have JobSets", seconds=_WITHIN
    )
    for job_id in waiters:
        await world.scancel(job_id)
    await _over(stage, waiters)
    await world.until(lambda: not world.storage.list(JOBSETS), what="no JobSet is left", seconds=_WITHIN)
    cluster = _purge_after(stage, 0.0)  # not sooner: a busy machine may see late how a job ended
    await eventually(lambda: not cluster.jobs, what="all jobs are purged", seconds=_WITHIN)
    _purge_after(stage, _LONG)
    size = bridge.usage().rss_mib
    print(f"  round {number}: {size:.1f} MiB", file=sys.stderr, flush=True)
    return size


async def _over(stage: Scene, job_ids: Sequence[int]) -> None:
    jobs = stage.world.jobs
    await stage.world.until(
        lambda: all(jobs[job_id].over for job_id in job_ids), what="the jobs are over", seconds=_WITHIN
    )


def _measured(sizes: Sequence[float], *, seconds: float) -> dict[str, float]:
    """The end against the beginning."""
    first, last = median(sizes[_WARM : _WARM + _FEW] or sizes[-1:]), median(sizes[-_FEW:])
    return {
        "lives.rss_mib": last,
        "lives.growth_mib": last - first,
        "lives.jobs": float(len(sizes) * ROUND),
        "lives.seconds": seconds,
    }
