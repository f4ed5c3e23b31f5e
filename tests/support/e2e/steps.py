"""What runs inside a job: steps on all of its nodes, as the user who submitted it. Real Slurm only."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import PODS
from k8s_bridge.sandbox.slurm_real import RealSlurm
from k8s_bridge.sandbox.world import World
from k8s_bridge.sandbox.world.config import BATCH
from k8s_bridge.sandbox.world.real_side import RealSide
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet

pytestmark = pytest.mark.asyncio(loop_scope="module")

MORE_THAN_HALF = 9
"""CPUs: two such pods do not fit on one machine of a world."""


def cluster(world: World) -> RealSlurm:
    assert isinstance(world.slurm, RealSide)
    return world.slurm.slurm


async def submit(world: World, *options: str, step: str, user: str = "root") -> int:
    """Submit a job that runs one step and leaves its sorted output as its comment."""
    tell = f'scontrol update "JobId=$SLURM_JOB_ID" Comment="$(srun sh -c {step!r} | sort | paste -sd,)"'
    script = f"#!/bin/sh\nset -e\n{tell}\n"
    return await cluster(world).sbatch("--hold", f"--partition={BATCH}", *options, script=script, user=user)


async def output(world: World, job_id: int) -> list[str]:
    """What the step wrote, line by line, once the job has completed."""
    await world.until_state(job_id, "COMPLETED", "FAILED", seconds=60)
    (job,) = (await cluster(world).get(f"job/{job_id}"))["jobs"]
    return str(job["comment"]).split(",")


async def test_a_step_runs_on_every_pod_of_the_job(make_world: MakeWorld):
    async with make_world(quota={"cpu": str(2 * MORE_THAN_HALF), "memory": "64Gi", "pods": "10"}) as world:
        await world.bridge()
        machines: dict[str, str] = {}
        world.storage.subscribe(
            PODS,
            lambda _, pod: machines.update({pod["metadata"]["name"]: pod["spec"].get("nodeName", "")}),
        )
        job_id = await submit(
            world, "--nodes=2", f"--cpus-per-task={MORE_THAN_HALF}", step="echo $SLURMD_NODENAME"
        )

        assert await output(world, job_id) == sorted(machines)
        assert len(machines) == len(set(machines.values())) == 2
        await quiet(world)


async def test_a_step_runs_as_the_user_who_submitted_it(world: World):
    job_id = await submit(world, step="id -un", user="nobody")

    assert await output(world, job_id) == ["nobody"]
