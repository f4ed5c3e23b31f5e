"""`python -m bench.soak MINUTES`: jobs and faults at random for as long as it is told, then a report.

A world with the fake Slurm, and the bridge as a process of its own. The bridge itself is killed and restarted
in the first quarter only: the rest belongs to one process, whose memory is to stay as it is once it is warm.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import linear_regression, median
from time import perf_counter

import psutil

from k8s_bridge.sandbox.faults import FAULTS, Fault, FaultEngine, Side
from k8s_bridge.sandbox.faults.processes import Processes
from k8s_bridge.sandbox.slurm_fake import SlurmError
from k8s_bridge.sandbox.world import JobRequest, Unmet, Verdict, World, WorldConfig, check
from k8s_bridge.sandbox.world.config import BATCH, URGENT
from k8s_bridge.sandbox.world.fake_side import FakeSide

SHAPES = (
    JobRequest(name="single"),
    JobRequest(name="nodes", nodes="2", ntasks=2),
    JobRequest(name="tasks", ntasks=3),
    JobRequest(name="range", nodes="1-2"),
    JobRequest(name="memory", mem=300),
    JobRequest(name="gpus", gpus_per_node=1),
    JobRequest(name="array", array="0-2"),
    JobRequest(name="urgent", ntasks=2, partition=URGENT),
)
CANCELLED = 0.05
"""The share of jobs that are cancelled within seconds."""
STORMS = 2
"""How many faults may be there at a time."""
_QUOTA = {"cpu": "24", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "100"}
_PURGED_AFTER = 60.0
_LASTS, _CALM = (1.0, 8.0), (0.5, 6.0)
_SAMPLE = 5.0
_QUIET_WITHIN = 1200.0
_ENOUGH = 12
"""Readings from which a slope can be told."""
_MIB = 1 << 20
_DISTURB_NO_PROCESS = {"bridge-frozen", "two-leaders"}


@dataclass(slots=True, kw_only=True)
class Soak:
    """What happened. `memory` holds (seconds since the start, process id, MiB) of the bridge."""

    jobs: int = 0
    cancelled: set[int] = field(default_factory=set)
    strikes: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, int, float]] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)
    requeues: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    trouble: str = ""

    @property
    def slope(self) -> float:
        """MiB an hour by which the last process grows, once pools and caches are filled; 0 in short runs."""
        last = [(at, size) for at, pid, size in self.memory if pid == self.memory[-1][1]]
        warm = last[len(last) // 2 :]
        return linear_regression(*zip(*warm, strict=True)).slope * 3600 if len(warm) >= _ENOUGH else 0.0

    @property
    def failed(self) -> bool:
        """Whether anything is not as it has to be."""
        return bool(self.lost or self.trouble or [one for one in self.verdicts if not one.holds])


async def soak(*, directory: Path, seconds: float, rate: float, seed: int) -> Soak:
    """Run it. `rate` is in jobs a minute."""
    seen, chance = Soak(), random.Random(seed)  # noqa: S311 - repeatable
    config = WorldConfig(directory=directory, quota=_QUOTA, machines=6, seed=seed)
    async with World.start(config) as world:
        _purge_soon(world)
        bridges = Processes(world)
        await bridges.start()
        faults = FaultEngine(world, bridges=bridges, seed=seed)
        began = perf_counter()
        end = began + seconds
        watching = asyncio.create_task(_watch(bridges, seen, began=began))
        storms = [_storm(faults, seen, chance, began=began, end=end) for _ in range(STORMS)]
        await asyncio.gather(_submit(world, seen, chance, end=end, pause=60 / rate), *storms)
        await faults.end_all()
        seen.strikes = faults.strikes
        await _judge(world, seen)
        watching.cancel()
    return seen


def _purge_soon(world: World) -> None:
    assert isinstance(world.slurm, FakeSide)
    cluster = world.slurm.slurm.cluster
    cluster.settings = replace(cluster.settings, min_job_age=_PURGED_AFTER)


async def _submit(world: World, seen: Soak, chance: random.Random, *, end: float, pause: float) -> None:
    due = perf_counter()
    async with asyncio.TaskGroup() as group:
        while (due := due + pause) < end:
            await asyncio.sleep(max(0.0, due - perf_counter()))
            request = replace(chance.choice(SHAPES), seconds=chance.uniform(0.1, 3.0))
            job_id = await world.sbatch(request)
            seen.jobs += 1
            if request.partition == BATCH and not request.array and chance.random() < CANCELLED:
                seen.cancelled.add(job_id)
                group.create_task(_cancel(world, job_id, after=chance.uniform(0.0, 4.0)))


async def _cancel(world: World, job_id: int, *, after: float) -> None:
    await asyncio.sleep(after)
    with contextlib.suppress(SlurmError):
        await world.scancel(job_id)


async def _storm(faults: FaultEngine, seen: Soak, chance: random.Random, *, began: float, end: float) -> None:
    while perf_counter() < end:
        may_end = perf_counter() < began + (end - began) / 4
        fault = chance.choice([fault for fault in FAULTS if may_end or not _ends_the_bridge(fault)])
        if fault.name not in faults.running and await faults.begin(fault):
            seen.begun[fault.name] += 1
            await asyncio.sleep(chance.uniform(*_LASTS))
            await faults.end(fault.name)
        await asyncio.sleep(chance.uniform(*_CALM))


def _ends_the_bridge(fault: Fault) -> bool:
    return fault.side is Side.BRIDGE and fault.name not in _DISTURB_NO_PROCESS


async def _watch(bridges: Processes, seen: Soak, *, began: float) -> None:
    """The bridge's memory, and a line a minute for whoever waits."""
    while True:
        with contextlib.suppress(psutil.NoSuchProcess, RuntimeError):
            pid = bridges.first.pid
            rss = psutil.Process(pid).memory_info().rss / _MIB
            seen.memory.append((perf_counter() - began, pid, rss))
        if len(seen.memory) % 12 == 1:
            at, _, rss = seen.memory[-1]
            print(
                f"{at:6.0f} s: {seen.jobs} jobs, {sum(seen.begun.values())} faults, {rss:.1f} MiB", flush=True
            )
        await asyncio.sleep(_SAMPLE)


async def _judge(world: World, seen: Soak) -> None:
    try:
        await world.until_quiet(seconds=_QUIET_WITHIN)
    except Unmet as unmet:
        seen.trouble = str(unmet)
    timeline = world.timeline
    seen.verdicts = check(timeline)
    seen.requeues = sum(job.restarts for job in timeline.jobs.values())
    seen.lost = {
        job.job_id: f"{job.state} {job.reason} {job.text}"
        for job in timeline.jobs.values()
        if job.state not in _expected(job.unit or job.job_id, seen)
    }


def _expected(job_id: int, seen: Soak) -> tuple[str, ...]:
    return ("COMPLETED", "CANCELLED") if job_id in seen.cancelled else ("COMPLETED",)


def report(seen: Soak, *, seconds: float) -> Iterator[str]:
    """Lines for people."""
    rate = seen.jobs / seconds * 60
    begun, strikes = sum(seen.begun.values()), sum(seen.strikes.values())
    yield f"{seen.jobs} jobs in {seconds:.0f} s ({rate:.0f} a minute), {len(seen.cancelled)} cancelled"
    yield f"{begun} faults of {len(seen.begun)} kinds, which struck {strikes} times"
    for name, count in sorted(seen.begun.items()):
        yield f"  {name:<24} {count:4d} times, {seen.strikes[name]:6d} strikes"
    yield f"{seen.requeues} requeues; lost: {len(seen.lost)}"
    yield from (f"  job {job_id}: {text}" for job_id, text in seen.lost.items())
    for verdict in seen.verdicts:
        yield f"{'holds ' if verdict.holds else 'BROKEN'} {verdict.name}: {verdict.evidence}"
    yield from _curve(seen)
    if seen.trouble:
        yield seen.trouble


def _curve(seen: Soak) -> Iterator[str]:
    """Memory by the minute."""
    minutes: dict[int, list[float]] = {}
    for at, _, size in seen.memory:
        minutes.setdefault(int(at // 60), []).append(size)
    lives = len({pid for _, pid, _ in seen.memory})
    yield f"memory of the bridge by the minute, in MiB ({lives} processes, the last since the first quarter):"
    yield "  " + " ".join(f"{median(sizes):.1f}" for sizes in minutes.values())
    yield f"  slope of the last process in the second half of its life: {seen.slope:+.1f} MiB an hour"


def main() -> int:
    """Exit code: 0 when nothing was lost and every invariant holds."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--rate", type=float, default=60.0, help="jobs a minute (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same jobs and faults")
    options = parser.parse_args()
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        seen = asyncio.run(
            soak(directory=Path(directory), seconds=seconds, rate=options.rate, seed=options.seed)
        )
    print("\n".join(report(seen, seconds=seconds)))
    return int(seen.failed)


if __name__ == "__main__":
    sys.exit(main())
