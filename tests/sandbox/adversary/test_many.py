"""Many short jobs through the whole bridge: when they are over, nothing that grew with them is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.adversary import bridge, until

from k8s_bridge.runtime.process import Process
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig

ENDLESS = 1000.0
KINDS = (
    *(JobRequest(seconds=0.1),) * 4,
    JobRequest(seconds=0.1, code=1),
    JobRequest(seconds=0.1, array="0-4"),
    JobRequest(seconds=0.1, more=(JobRequest(ntasks=2),)),
    JobRequest(seconds=ENDLESS),
    JobRequest(seconds=ENDLESS, tmp=100),
)
"""The last two are cancelled: one runs or waits, the other was refused."""
TIMES = 5
OURS = ("k8s_bridge.slurm", "k8s_bridge.runtime", "k8s_bridge.kube")
BOUNDED = ("Recent",)
"""Classes that forget by themselves."""


def sizes(root: Any) -> dict[str, int]:
    """How many entries each container has that can be reached through attributes of our objects."""
    return dict(_walk(root, "", set()))


def _walk(thing: Any, path: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, dict | set | list):
        yield path, len(thing)
        values = thing.values() if isinstance(thing, dict) else thing
        for value in list(values)[:50]:
            yield from _walk(value, f"{path}[]", seen)
        return
    kind = type(thing)
    if not kind.__module__.startswith(OURS) or kind.__name__ in BOUNDED:
        return
    names = [*getattr(thing, "__dict__", ()), *(n for c in kind.__mro__ for n in getattr(c, "__slots__", ()))]
    for name in names:
        yield from _walk(getattr(thing, name, None), f"{path}.{name}", seen)


async def gone(world: World, jobs: list[tuple[JobRequest, int]]) -> None:
    """All of them are over, each as it should be, and everything is given back."""
    cut = [job_id for one, job_id in jobs if one.seconds == ENDLESS]
    refused = [job_id for one, job_id in jobs if one.tmp]
    await world.until(lambda: all("tmp" in world.text(job_id) for job_id in refused), what="some are refused")
    for job_id in cut:
        await world.scancel(job_id)
    await world.until_quiet(seconds=90)
    ended = {job_id: world.jobs[job_id].state for one, job_id in jobs if not one.array}
    wanted = {
        job_id: "CANCELLED" if one.seconds == ENDLESS else "FAILED" if one.code else "COMPLETED"
        for one, job_id in jobs
        if not one.array
    }
    assert ended == wanted


def parts(process: Process) -> Any:
    keepers = process._roster._supervisor._keepers.values()
    sessions = [keeper._bridge._session for keeper in keepers if keeper._bridge is not None]
    return sessions[0]._parts if sessions and sessions[0] is not None else None


@pytest.mark.timeout(300)
async def test_nothing_is_left_of_many_jobs(tmp_path: Path):
    quota = {"cpu": "64", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "1000"}
    config = WorldConfig(directory=tmp_path, slurm=Backend.FAKE, quota=quota, machine=quota)
    async with World.start(config) as world:
        cluster = world.slurm.slurm.cluster
        cluster.settings = replace(cluster.settings, min_job_age=8.0)
        async with bridge(world) as process:
            await until(lambda: parts(process) and not parts(process)._blocked(), what="it works")
            before = sizes(parts(process))
            jobs = [(one, await world.sbatch(one)) for _ in range(TIMES) for one in KINDS]
            await gone(world, jobs)
            await until(lambda: not cluster.jobs, what="slurmctld has purged them")
            await until(lambda: not len(parts(process)._tables.jobs), what="so has the bridge")
            grown = {}

            def settled() -> bool:
                nonlocal grown
                parts(process)._loop.resync()
                now = sizes(parts(process))
                grown = {k: (before.get(k, 0), n) for k, n in now.items() if n > before.get(k, 0) + 10}
                return not grown

            try:
                await until(settled, what="nothing is left", seconds=10)
            finally:
                assert grown == {}
