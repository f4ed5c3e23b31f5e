"""Headers as they are in use, through the whole bridge: each job completes on pods made for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from support.e2e.arrays import all_complete
from support.e2e.keeper import quiet
from support.headers import HEADERS, SWEEPS, script

from k8s_bridge.sandbox.world import World, WorldConfig
from k8s_bridge.sandbox.world.config import BATCH
from k8s_bridge.sandbox.world.real_side import RealSide

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(400)]

QUOTA = {"cpu": "64", "memory": "1000Gi", "nvidia.com/gpu": "16", "pods": "100"}
MACHINE = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
TYPED = "Name=gpu Type=a100 File=/srv/dev/nvidia[0-7]\n"
WHOLE = {"cpus": 8, "memory": "240Gi", "gpus": 8}
SPEC = {
    "slurmd": {
        "image": "slurmd:sandbox",
        "confServer": "slurmctld:6817",
        "authSecretName": "slurm-auth",
        "gresResources": [{"gres": "gpu:a100", "resourceName": "nvidia.com/gpu"}],
    },
    "partitionMappings": [
        {"partitionName": BATCH, "workloadPriorityClass": "normal", "nodeShape": WHOLE},
    ],
}
PATIENCE = 240.0


def real(world: World) -> RealSide:
    assert isinstance(world.slurm, RealSide)
    (world.slurm.slurm.world.directory / "etc/gres.conf").write_text(TYPED)
    return world.slurm


async def submit(side: RealSide, headers: dict[str, str]) -> dict[str, int]:
    return {
        name: await side.slurm.sbatch("--hold", "-p", BATCH, script=script(header, name=name))
        for name, header in headers.items()
    }


async def test_scripts_as_they_are_in_use_complete(make_config: Callable[..., WorldConfig]) -> None:
    async with World.start(make_config(quota=QUOTA, machine=MACHINE, machines=8, spec=SPEC)) as world:
        side = real(world)
        await world.bridge()
        jobs, sweeps = await submit(side, dict(HEADERS)), await submit(side, dict(SWEEPS))

        await world.until(
            lambda: all(job in world.jobs and world.jobs[job].over for job in jobs.values()),
            what="all jobs are over",
            seconds=PATIENCE,
        )

        ends = {name: world.jobs[job].state for name, job in jobs.items()}
        assert ends == dict.fromkeys(HEADERS, "COMPLETED"), {n: world.text(j) for n, j in jobs.items()}
        await all_complete(world, sweeps["array sweep"], count=6)
        await all_complete(world, sweeps["stepped array with GPUs"], count=3)
        await quiet(world)


async def interactive(side: RealSide, *command: str) -> list[str]:
    """The output of a command that waits for its allocation, and for the step in it."""
    async with asyncio.timeout(PATIENCE):
        return (await side.slurm.world.run(*command)).split()


async def test_salloc_and_srun_with_hold_are_jobs_as_any_other(
    make_config: Callable[..., WorldConfig],
) -> None:
    """Without --hold they need the job_submit plugin, as sbatch does."""
    step = ("srun", "--mpi=none")
    asked = ("--hold", "-p", BATCH, "-N2", "-n4")
    tell = ("sh", "-c", "echo $SLURMD_NODENAME")
    async with World.start(make_config(quota=QUOTA, machine=MACHINE, spec=SPEC)) as world:
        side = real(world)
        await world.bridge()

        allocated, direct = await asyncio.gather(
            interactive(side, "salloc", *asked, *step, *tell), interactive(side, *step, *asked, *tell)
        )

        pods: dict[int | None, set[str]] = {}
        for span in world.timeline.pods:
            pods.setdefault(span.job_id, set()).add(span.name)
        assert sorted(map(len, (allocated, direct))) == [4, 4]
        assert {frozenset(allocated), frozenset(direct)} == {frozenset(names) for names in pods.values()}
        await quiet(world)
