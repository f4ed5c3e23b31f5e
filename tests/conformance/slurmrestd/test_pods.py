from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conformance.slurmrestd.world import World

from api.v1alpha1.slurmd import Slurmd
from k8s_bridge.sandbox.controllers.kubelet_runtime import PodEnv, PodRuntime
from k8s_bridge.sandbox.slurm_real import RealSlurm
from k8s_bridge.sandbox.slurmd_runtime import (
    FakeSlurmdRuntime,
    RealSlurmdRuntime,
    SlurmdArguments,
    slurmd_arguments,
)
from k8s_bridge.slurm.jobset.container import slurmd_container
from k8s_bridge.slurm.layout.types import Shape

NAME = "slurm-job-7-w-0-0-x5k2p"
ENV = PodEnv(node="node-1", variables={"POD_NAME": NAME})
SHAPE = Shape(cpus=4, memory=4000, gres=(("gpu", "", 4),))


def pod(args: list[str] | None = None) -> dict[str, Any]:
    slurmd = Slurmd.model_validate(
        {"image": "slurmd:1", "confServer": "slurmctld:6817", "authSecretName": "slurm-auth"}
    )
    container = slurmd_container({}, features=("nodes-for-7", "fast"), shape=SHAPE, slurmd=slurmd)
    if args is not None:
        container["args"] = args
    return {"metadata": {"name": NAME}, "spec": {"containers": [container]}}


def runtime_of(world: World) -> PodRuntime:
    if isinstance(world.slurm, RealSlurm):
        return RealSlurmdRuntime(world.slurm)
    return FakeSlurmdRuntime(world.slurm)


def test_arguments_are_those_that_the_bridge_writes() -> None:
    conf = "Features=nodes-for-7,fast CPUs=4 RealMemory=4000 Gres=gpu:4"
    assert slurmd_arguments(pod(), ENV) == SlurmdArguments(name=NAME, conf=conf, options=("-b",))


def test_arguments_of_a_shell_line() -> None:
    args = ["-D -Z -N", '"$POD_NAME"', "--conf", "'Features=a CPUs=1'", "--conf-server=s:6817"]
    assert slurmd_arguments(pod(args), ENV) == SlurmdArguments(name=NAME, conf="Features=a CPUs=1")


async def test_a_pod_becomes_a_node_and_a_job_runs_in_it(world: World) -> None:
    running = await runtime_of(world).start(pod(), ENV)
    await asyncio.wait_for(running.ready(), 20)
    await world.node_becomes(NAME, "IDLE")
    node = await world.node(NAME)
    assert (node["cpus"], node["real_memory"], node["gres"]) == (4, 4000, "gpu:4")
    assert node["features"] == ["nodes-for-7", "fast"]
    job_id = await world.submit("true", tres_per_node="gres/gpu:4")
    await world.pin_and_release(job_id, "nodes-for-7&fast")
    await world.job_becomes(job_id, "COMPLETED")
    await running.terminate(grace=5)


@pytest.mark.parametrize(("grace", "code"), [(5.0, 1), (0.0, 137)])
async def test_the_end_of_a_pod_is_a_failure_that_nobody_tells_slurmctld(
    world: World, grace: float, code: int
) -> None:
    running = await runtime_of(world).start(pod(), ENV)
    await world.node_becomes(NAME, "IDLE")
    job_id = await world.submit(hold=False)
    await world.job_becomes(job_id, "RUNNING")
    waiting = asyncio.create_task(running.wait())

    await running.terminate(grace=grace)
    await running.terminate(grace=0)

    assert (await asyncio.wait_for(waiting, 5)).code == code
    assert (await running.wait()).code == code
    assert "RUNNING" in (await world.job(job_id))["job_state"]


@pytest.mark.parametrize("args", [[], ["-Z", "-N", "$(POD_NAME)", "--conf", "'NodeName=x CPUs=1'"]])
async def test_a_slurmd_that_cannot_start_fails_its_pod(world: World, args: list[str]) -> None:
    running = await runtime_of(world).start(pod(args), ENV)
    assert (await asyncio.wait_for(running.wait(), 10)).code == 1
    ready = asyncio.create_task(running.ready())
    await asyncio.sleep(0.05)
    assert not ready.done()
    ready.cancel()
    assert (await world.get("nodes/"))["nodes"] == []
