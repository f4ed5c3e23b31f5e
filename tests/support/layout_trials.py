"""Trials of layouts on a real slurmctld: submit held, start nodes of given shapes, pin, release, see."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from k8s_bridge.sandbox.slurm_real import RealSlurm, SlurmdProcess, available
from k8s_bridge.slurm.client import wire_job
from k8s_bridge.slurm.jobset import slurm_conf
from k8s_bridge.slurm.layout import Exclusive, Layout, NodeShape, Refusal, Shape, plan
from k8s_bridge.slurm.model import Job

VIRTUAL = NodeShape(cpus=4, memory=1000, gpus=4)
UNSIZED = NodeShape(cpus=4, gpus=4)
AT_A_TIME = 8
JUDGED = {"Resources", "PartitionConfig", "BadConstraints", "PartitionNodeLimit", "ReqNodeNotAvail"}
"""Reasons that Slurm gives after it has tried."""


async def submit(slurm: RealSlurm, options: str) -> Job:
    """The record of a job submitted with `options`, held."""
    return await current(slurm, await slurm.sbatch("--hold", *shlex.split(options), "--wrap=sleep 60"))


async def current(slurm: RealSlurm, job_id: int) -> Job:
    """The job's record, read as the bridge reads it."""
    (raw,) = (await slurm.get(f"job/{job_id}"))["jobs"]
    return wire_job.job_of(msgspec.convert(raw, wire_job.WireJob), exclusive_known=True)


async def post(slurm: RealSlurm, path: str, body: dict[str, Any]) -> None:
    headers = {"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": slurm.token}
    async with httpx.AsyncClient(base_url=slurm.rest_url, headers=headers, timeout=20) as client:
        await client.post(f"/slurm/{slurm.release.api_version}/{path}", json=body)


async def start(slurm: RealSlurm, job: Job, shapes: Iterable[Shape]) -> list[SlurmdProcess]:
    """One slurmd for each shape, registered and idle."""
    features = (f"nodes-for-{job.job_id}",)
    pods = [
        slurm.slurmd(f"j{job.job_id}-{index}", slurm_conf(shape, features=features))
        for index, shape in enumerate(shapes)
    ]
    wanted = {pod.name for pod in pods}
    async with asyncio.timeout(40):
        while True:
            nodes = (await slurm.get("nodes/")).get("nodes", [])
            if wanted <= {node["name"] for node in nodes if idle(node["state"])}:
                return pods
            await asyncio.sleep(0.1)


def idle(state: str | list[str]) -> bool:
    """Whether a node may start a job; 22.05 has one word in small letters."""
    return wire_job.words(state if isinstance(state, str) else tuple(state)) <= {"IDLE", "DYNAMIC_NORM"}


async def pin_and_release(slurm: RealSlurm, job: Job) -> None:
    """Let the job start on its own nodes, and on no others."""
    await post(slurm, f"job/{job.job_id}", {"constraints": f"nodes-for-{job.job_id}", "hold": False})


async def verdict(slurm: RealSlurm, job_id: int) -> Job:
    """The record once the job runs, or once Slurm has tried and says why not."""
    async with asyncio.timeout(40):
        while True:
            job = await current(slurm, job_id)
            if "RUNNING" in job.states or job.reason in JUDGED:
                return job
            await asyncio.sleep(0.1)


async def forget(slurm: RealSlurm, pods: Iterable[SlurmdProcess]) -> None:
    """Delete the nodes, but not on 22.05: its slurmctld crashes on a later update of another node."""
    if slurm.release.name == "22.05":
        return
    for pod in pods:
        await slurm.scontrol("update", f"NodeName={pod.name}", "State=DOWN", "Reason=test")
        await slurm.scontrol("delete", f"NodeName={pod.name}")


async def outcome(slurm: RealSlurm, job: Job, shapes: Iterable[Shape]) -> tuple[str, int]:
    """(RUNNING or why not, nodes) after pin and release on nodes of `shapes`; everything is removed again."""
    pods = await start(slurm, job, shapes)
    await pin_and_release(slurm, job)
    end = await verdict(slurm, job.job_id)
    await slurm.world.run("scancel", str(job.job_id))
    await asyncio.gather(*(pod.kill() for pod in pods))
    await forget(slurm, pods)
    return ("RUNNING" if "RUNNING" in end.states else end.reason), end.node_count or 0


def shapes_of(layout: Layout) -> list[Shape]:
    """The shape of each node."""
    return [group.shape for group in layout.groups for _ in range(group.count)]


def shrunk(layout: Layout) -> dict[str, list[Shape]]:
    """The layout with a node, a CPU, a MiB or a GRES less, where there is one to take."""
    shapes = shapes_of(layout)
    first, rest = shapes[0], shapes[1:]
    fewer = {}
    if rest:
        fewer["node"] = shapes[:-1]
    if first.cpus > 1:
        fewer["cpu"] = [replace(first, cpus=first.cpus - 1), *rest]
    if first.memory > 1:
        fewer["memory"] = [replace(first, memory=first.memory - 1), *rest]
    if first.gres:
        (name, kind, count), *others = first.gres
        less = ((name, kind, count - 1),) if count > 1 else ()
        fewer["gres"] = [replace(first, gres=(*less, *others)), *rest]
    return fewer


async def check_runs(slurm: RealSlurm, options: str, virtual: NodeShape | None) -> str:
    """What went wrong when the job does not run on exactly the advertised nodes; empty when it does."""
    job = await submit(slurm, options)
    layout = plan(job, node_shape=virtual, exclusive=Exclusive.AS_ASKED)
    if isinstance(layout, Refusal):
        return f"{options}: refused for {layout.option}: {layout.text}"
    found = await outcome(slurm, job, shapes_of(layout))
    return "" if found == ("RUNNING", layout.nodes) else f"{options}: {found} on {layout}"


async def check_needs_all(slurm: RealSlurm, options: str, virtual: NodeShape | None) -> str:
    """What of its layout the job did without; empty when it needs all of it."""
    job = await submit(slurm, options)
    layout = plan(job, node_shape=virtual, exclusive=Exclusive.AS_ASKED)
    assert isinstance(layout, Layout)
    spare = []
    for what, shapes in shrunk(layout).items():
        result, _ = await outcome(slurm, job, shapes)
        if result == "RUNNING":
            spare.append(what)
        job = await submit(slurm, options)
    return f"{options}: {spare} was not needed of {layout}" if spare else ""


async def each(check: Any, slurm: RealSlurm, cases: Iterable[tuple[str, NodeShape | None]]) -> list[str]:
    """All complaints; cases run side by side, since each has nodes of its own."""
    turn = asyncio.Semaphore(AT_A_TIME)

    async def one(options: str, virtual: NodeShape | None) -> str:
        async with turn:
            return str(await check(slurm, options, virtual))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(*case)) for case in cases]
    return [text for task in tasks if (text := task.result())]


async def started(directory: Path, *, release: str = "24.11", conf: str = "", gpus: int = 8) -> RealSlurm:
    """A cluster with GPUs of a type for each node; skips where the release cannot be had."""
    if reason := available(release):
        pytest.skip(reason)
    slurm = await RealSlurm.start(release, directory, extra_conf=f"MaxNodeCount=5000\n{conf}")
    devices = f"Name=gpu Type=a100 File=/srv/dev/nvidia[0-{gpus - 1}]\n"
    (directory / "etc/gres.conf").write_text(devices)
    return slurm
