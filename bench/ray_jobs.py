"""Scenario `ray_jobs`: inner RayJobs of two workers each, all at once, in a queue that fits some of them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter

from bench.bridge import Bridge
from bench.places import Place
from bench.report import Result
from bench.stage import tapped
from bench.tap import Tap
from bench.witness import Witness
from k8s_bridge.cli.demo_ray import SPEC
from k8s_bridge.ray import names
from k8s_bridge.ray.policies import policies
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS
from k8s_bridge.sandbox.world import World, WorldConfig
from k8s_bridge.sandbox.world.config import HIGH, NAMESPACE
from k8s_bridge.sandbox.world.shared_ray import OVER, SharedRay

_WORKERS = 2
_SECONDS = 1.0
_WITHIN = 900.0
_SAMPLE = 0.2
_SETTLED = 3.0
"""Seconds after which a bridge without jobs has seen what there is."""


async def run(*, command: str, directory: Path, jobs: int, place: Place) -> Result:
    """Memory in MiB and calls of the API server for each job. TimeoutError when they do not all succeed."""
    config = WorldConfig(
        directory=directory,
        slurm=place.slurm,
        quota={"cpu": "41", "memory": "640Gi", "pods": "500"},
        spec=SPEC,
    )
    witness = Witness(stamping=False)
    async with AsyncExitStack() as stack:
        tap = await stack.enter_async_context(Tap(on_request=witness.asked_kube, on_answer=witness.told_kube))
        world = await stack.enter_async_context(place.start(config))
        shared = SharedRay(world)
        await shared.start(priority=HIGH, policies=tuple(policies(prefix="ray-bridge", mutating="v1beta1")))
        values = {"{kubeconfig}": str(tapped(world.kubeconfig, tap=tap)), "{namespace}": NAMESPACE}
        ours = command.replace(" run ", " run ray ", 1)
        bridge = Bridge(ours, values=values, directory=directory, commands=None)
        stack.push_async_callback(bridge.stop)
        await asyncio.sleep(_SETTLED)
        before, calls, began = bridge.usage(), witness.kube.copy(), perf_counter()
        most = await _lives(world, shared, bridge, jobs=jobs)
        spent, seconds = witness.kube.since(calls), perf_counter() - began
        after = bridge.usage()
    return Result(
        scenario="ray_jobs",
        measured={
            "ray_jobs.seconds": seconds,
            "ray_jobs.rss_before_mib": before.rss_mib,
            "ray_jobs.rss_peak_mib": most,
            "ray_jobs.kubernetes_calls_per_job": spent.total / jobs,
            "ray_jobs.cpu_ms_per_job": (after.cpu - before.cpu) / jobs * 1000,
        },
        detail={"jobs": jobs, "kubernetes": spent.table()},
    )


async def _lives(world: World, shared: SharedRay, bridge: Bridge, *, jobs: int) -> float:
    """Until all have succeeded and nothing is left of them; the most memory that the bridge had, in MiB."""
    made = [f"job-{number}" for number in range(jobs)]
    for name in made:
        shared.submit(name, seconds=_SECONDS, annotations={names.WORKERS: str(_WORKERS)})
    most, began = 0.0, perf_counter()
    while not _over(shared, made) or world.storage.list(JOBSETS, namespace=NAMESPACE):
        if perf_counter() - began > _WITHIN:
            raise TimeoutError(f"{jobs} jobs were not over within {_WITHIN:g} s")
        most = max(most, bridge.usage().rss_mib)
        await asyncio.sleep(_SAMPLE)
    ended = {shared.status(name).get("jobStatus") for name in made}
    if ended != {"SUCCEEDED"}:
        raise AssertionError(f"not all succeeded: {ended}")
    return most


def _over(shared: SharedRay, made: list[str]) -> bool:
    return all(shared.status(name).get("jobDeploymentStatus") in OVER for name in made)
