"""What is not believed: a Slurm that forgot everything, wrong answers, nodes and JobSets that pretend."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.adversary import all_well, bridge, side_by_side, until

from k8s_bridge.sandbox.apiserver.kinds import EVENTS, JOBSETS, NODES, PODS
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Fault, FaultRule
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from k8s_bridge.slurm import guard, parking, reporter, speech
from k8s_bridge.slurm.moves import capacity
from k8s_bridge.slurm.poller import doubt

LIES = (Fault.EMPTY_LIST, Fault.MALFORMED_ITEM, Fault.STALE, Fault.NOT_JSON)
LIES_LAST = 1.5
GUARDED = 10.0
"""Seconds that a Slurm that forgot everything is not believed, in these stories."""
UNMANAGED = "unmanaged"

Story = Callable[[World], Awaitable[None]]
STORIES: dict[str, Story] = {}


def story(told: Story) -> Story:
    STORIES[told.__name__] = told
    return told


def slurm(world: World) -> FakeSlurm:
    return world.slurm.slurm  # type: ignore[attr-defined, no-any-return]


async def four_run(world: World) -> list[int]:
    jobs = [await world.sbatch(JobRequest(ntasks=1, seconds=600)) for _ in range(4)]
    for job in jobs:
        await world.until_state(job, "RUNNING")
    return jobs


def jobsets(world: World) -> set[str]:
    return {jobset["metadata"]["uid"] for jobset in world.storage.list(JOBSETS, namespace=NAMESPACE)}


@story
async def a_slurm_that_forgot_everything_is_not_believed_until_it_insists(world: World):
    """slurmctld -c."""
    await four_run(world)
    before = jobsets(world)
    slurm(world).restart(clean=True)
    await world.until(
        lambda: "MassDeletionRefused" in str(world.mixing_condition("Ready")), what="the condition says so"
    )
    assert jobsets(world) == before
    await until(lambda: "MassDeletionRefused" in warnings(world), what="an event says so")
    await world.until(lambda: not jobsets(world), what="in the end everything is given back", seconds=40)


def warnings(world: World, *, of: str = "") -> set[str]:
    events = world.storage.list(EVENTS, namespace=NAMESPACE)
    told = [event for event in events if event["involvedObject"]["name"] == of or not of]
    return {event["reason"] for event in told if event["type"] == "Warning"}


async def lies(world: World, fault: Fault) -> None:
    jobs = await four_run(world)
    before = jobsets(world)
    slurm(world).inject(FaultRule(fault=fault, match="GET", seconds=5))
    await asyncio.sleep(LIES_LAST)
    slurm(world).inject()
    late = await world.sbatch(JobRequest(seconds=0.1))
    await world.until_state(late, "COMPLETED", seconds=40)
    assert before <= jobsets(world) | {s.uid for s in world.timeline.jobsets if s.ended is None}
    for job in jobs[1:]:
        assert world.jobs[job].running
        await world.scancel(job)
    await world.scancel(jobs[0])
    await world.until_quiet()


for _fault in LIES:
    STORIES[f"every answer is wrong: {_fault}"] = partial(lies, fault=_fault)


@story
async def ghosts_go_and_foreign_nodes_stay(world: World):
    job = await world.sbatch(JobRequest(seconds=1.5))
    await world.until_state(job, "RUNNING")
    slurm(world).register_node("ghost-1", f"Features=nodes-for-77,by-{NAMESPACE}.{MIXING} CPUs=1")
    slurm(world).register_node("foreign-1", "Features=nodes-for-78 CPUs=1")
    slurm(world).register_node("foreign-2", f"Features=nodes-for-79,by-{NAMESPACE}.another CPUs=1")
    await until(lambda: "ghost-1" not in slurm(world).nodes, what="the ghost is gone")
    await world.until_state(job, "COMPLETED")
    assert {"foreign-1", "foreign-2"} <= set(slurm(world).nodes)
    for name in ("foreign-1", "foreign-2"):
        slurm(world).cluster.nodes.pop(name)
    slurm(world).cluster.nodes_touched()
    await all_well(world, job)


@story
async def a_job_of_others_on_admitted_capacity_is_told_and_waited_out(world: World):
    """Only half of the job's pods find a machine, and somebody's job starts on the node of the one."""
    cluster = slurm(world).cluster
    cluster.settings = replace(cluster.settings, partitions=(*cluster.settings.partitions, UNMANAGED))
    machines = [node["metadata"]["name"] for node in world.storage.list(NODES)]
    for name in machines[1:]:
        world.storage.patch(NODES, "", name, {"spec": {"unschedulable": True}})
    only = world.storage.get(NODES, "", machines[0])
    small = {**only["status"], "allocatable": {**only["status"]["allocatable"], "cpu": "2"}}
    world.storage.update(NODES, {**only, "status": small}, subresource="status")
    job = await world.sbatch(JobRequest(nodes="2", ntasks=4, seconds=0.3))
    await world.until(lambda: len(slurm(world).nodes) == 1, what="one of two nodes registers")
    theirs = slurm(world).submit(run_time=600, hold=False, partition=UNMANAGED, tasks=1)
    await world.until_state(theirs, "RUNNING")
    await world.until(
        lambda: "Trespass: another job runs on this job's nodes: slurm-job-" in world.text(job),
        what="it is told",
    )
    (node,) = slurm(world).nodes.values()
    assert node.drain
    assert node.reason == "k8s-bridge: another job runs here"
    assert "Trespass" in warnings(world)
    await world.scancel(theirs)
    for name in machines[1:]:
        world.storage.patch(NODES, "", name, {"spec": {"unschedulable": False}})
    await world.until_state(job, "COMPLETED", seconds=40)
    await world.until_quiet(seconds=20)


@story
async def a_jobset_that_only_bears_our_labels_is_nobodys(world: World):
    hog = await world.sbatch(JobRequest(ntasks=8, seconds=600))
    await world.until_state(hog, "RUNNING")
    job = await world.sbatch(JobRequest(seconds=0.3))
    await world.until(lambda: world.of_job(JOBSETS, job), what="it is asked for")
    (own,) = world.of_job(JOBSETS, job)
    fake = deepcopy(own)
    fake["metadata"] = {"namespace": NAMESPACE, "name": "a-trap", "labels": own["metadata"]["labels"]}
    fake["metadata"]["annotations"] = own["metadata"]["annotations"]
    trap = world.storage.create(JOBSETS, {key: fake[key] for key in ("metadata", "spec")})
    await until(lambda: "NotOurs" in warnings(world, of="a-trap"), what="an event on it says so")
    await world.until(lambda: "a-trap" in str(world.mixing_condition("Ready")), what="so does the condition")
    await world.scancel(hog)
    started = await world.until_state(job, "COMPLETED")
    assert all(name.startswith(f"slurm-job-{job}-") for name in started.nodes)
    await world.until(lambda: own["metadata"]["uid"] not in jobsets(world), what="its own is given back")
    assert trap["metadata"]["uid"] in jobsets(world)
    world.delete(JOBSETS, "a-trap")
    await world.until(lambda: "a-trap" not in str(world.mixing_condition("Ready")), what="it is forgotten")
    await world.until(lambda: not world.storage.list(PODS, namespace=NAMESPACE), what="its pods are gone")


async def tell(told: Story, directory: Path) -> None:
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world, bridge(world):
        await told(world)


@pytest.mark.timeout(400)
async def test_what_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doubt, "PATIENCE", 0.5)
    monkeypatch.setattr(guard, "PATIENCE", GUARDED)
    monkeypatch.setattr(reporter, "SECONDS", 0.2)
    monkeypatch.setattr(speech, "SETTLE", 0.1)
    monkeypatch.setattr(parking, "FIRST", 0.5)
    monkeypatch.setattr(capacity, "TRESPASS_GRACE", 0.3)
    await side_by_side(
        {name: partial(tell, told, tmp_path / str(i)) for i, (name, told) in enumerate(STORIES.items())}
    )
