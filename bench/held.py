"""Scenario `held`: 20,000 held jobs, a small quota that is full, and nothing that moves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

from bench.bridge import Bridge
from bench.calls import Kind
from bench.places import Place
from bench.report import Result
from bench.stage import Scene, scene
from bench.witness import Witness
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.world import JobRequest, WorldConfig

MAX_IN_FLIGHT = 200
"""The default of a WorkloadMixing's partition."""
_QUIET = 15.0
"""Seconds without a change by the bridge: then it has settled."""
_WITHIN = 300.0
_IDLE = 40.0
"""Seconds over which idleness is measured."""
_LONG = 86_400.0
_SAMPLE = 0.1


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """Time to settle, then memory, CPU and calls while idle. The spec's defaults but for the quota."""
    config = WorldConfig(
        directory=directory,
        quota={"cpu": "4", "memory": "64Gi", "pods": "100"},
        spec={"pollInterval": "10s", "slurmRequestTimeout": "60s"},
    )
    witness = Witness(stamping=False)
    async with scene(config, place=place, command=command, witness=witness) as stage:
        await _submit(stage, jobs)
        began = perf_counter()
        bridge = await stage.start()
        assert witness.first_listing is not None
        listed = witness.first_listing - began
        most = await _settle(bridge, witness)
        settled = perf_counter() - began - _QUIET
        idle = await _idle(bridge, witness)
        jobsets = len(stage.world.storage.list(JOBSETS))
        detail = {"jobs": jobs, "slurm": witness.slurm.table(), "kubernetes": witness.kube.table()}
    return Result(
        scenario="held",
        measured={
            "held.first_listing_s": listed,
            "held.settled_s": settled,
            "held.rss_peak_mib": max(most, idle["held.rss_mib"]),
            **idle,
            "held.jobsets": jobsets,
        },
        detail=detail,
    )


async def _submit(stage: Scene, jobs: int) -> None:
    for number in range(jobs):
        await stage.world.sbatch(JobRequest(name=f"job-{number}", ntasks=1 + number % 4, seconds=_LONG))


async def _settle(bridge: Bridge, witness: Witness) -> float:
    """Until the bridge has changed nothing for a while; the most memory that it had, in MiB."""
    most, last, since, began = 0.0, -1, perf_counter(), perf_counter()
    while perf_counter() - since < _QUIET:
        if perf_counter() - began > _WITHIN:
            raise TimeoutError(f"the bridge did not settle within {_WITHIN:g} s")
        changes = witness.slurm.of(Kind.MUTATION) + witness.kube.of(Kind.MUTATION)
        if changes != last:
            last, since = changes, perf_counter()
        most = max(most, bridge.usage().rss_mib)
        await asyncio.sleep(_SAMPLE)
    return most


async def _idle(bridge: Bridge, witness: Witness) -> dict[str, float]:
    before, began = bridge.usage(), perf_counter()
    slurm, kube = witness.slurm.total, witness.kube.total
    await asyncio.sleep(_IDLE)
    after, seconds = bridge.usage(), perf_counter() - began
    return {
        "held.rss_mib": after.rss_mib,
        "held.idle_cpu_percent": (after.cpu - before.cpu) / seconds * 100,
        "held.idle_slurm_calls_per_s": (witness.slurm.total - slurm) / seconds,
        "held.idle_kubernetes_calls_per_s": (witness.kube.total - kube) / seconds,
    }
