"""Many short jobs through the whole bridge: when they are over, nothing that grew with them is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.adversary import all_well, bridge, until

from k8s_bridge.runtime.process import Process
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig

JOBS = 150
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


def parts(process: Process) -> Any:
    keepers = process._roster._supervisor._keepers.values()
    sessions = [keeper._bridge._session for keeper in keepers if keeper._bridge is not None]
    return sessions[0]._parts if sessions and sessions[0] is not None else None


async def test_nothing_is_left_of_many_jobs(tmp_path: Path):
    quota = {"cpu": "64", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "1000"}
    config = WorldConfig(directory=tmp_path, slurm=Backend.FAKE, quota=quota, machine=quota)
    async with World.start(config) as world:
        cluster = world.slurm.slurm.cluster
        cluster.settings = replace(cluster.settings, min_job_age=8.0)
        async with bridge(world) as process:
            await until(lambda: parts(process) and not parts(process)._blocked(), what="it works")
            before = sizes(parts(process))
            jobs = [await world.sbatch(JobRequest(seconds=0.1)) for _ in range(JOBS)]
            await all_well(world, *jobs, seconds=90)
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
