"""Capacity that was promised and does not come, or is of no use: said, given back in time, tried again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.adversary import all_well, bridge, side_by_side, until

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, NODES, PODS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig, check
from k8s_bridge.sandbox.world.config import HIGH, MIXING, NAMESPACE, TEAM_B
from k8s_bridge.sandbox.world.slurm import JobFact
from k8s_bridge.slurm import parking, speech

IMAGE = "registry.example.com/missing:1"
NOWHERE = {"spec": {"nodeSelector": {"example.com/gpu": "h100"}}}

Story = Callable[[World], Awaitable[None]]
STORIES: dict[str, tuple[Mapping[str, Any], Story]] = {}


def story(**spec: Any) -> Callable[[Story], Story]:
    def keep(told: Story) -> Story:
        STORIES[told.__name__] = (spec, told)
        return told

    return keep


def patch(world: World, **spec: Any) -> None:
    world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": spec})


def template(world: World, pod_template: Mapping[str, Any]) -> None:
    mappings = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]["partitionMappings"]
    patch(world, partitionMappings=[{**mapping, "podTemplate": dict(pod_template)} for mapping in mappings])


async def says(world: World, job: int, *words: str) -> None:
    await world.until(
        lambda: all(word in world.text(job) for word in words), what=f"job {job} says {' and '.join(words)}"
    )


async def evict(world: World, **options: Any) -> int:
    """A job that runs loses its capacity to another one."""
    job = await world.sbatch(JobRequest(ntasks=8, seconds=600, **options))
    await world.until_state(job, "RUNNING")
    world.slurm.slurm.cluster.jobs[job].run_time = 0.5  # type: ignore[attr-defined]
    world.submit_job("urgent", queue=TEAM_B, priority=HIGH, cpus=8, seconds=4.0)
    return job


async def over(world: World, job: int, state: str) -> None:
    await world.until_state(job, state, seconds=40)
    await world.until_quiet(seconds=20)
    assert [verdict for verdict in check(world.timeline) if not verdict.holds] == []


@story(slurmd={"image": IMAGE, "confServer": "slurmctld:6817", "authSecretName": "slurm-auth"})
async def an_image_that_cannot_be_had(world: World):
    job = await world.sbatch(JobRequest(seconds=0.2))
    await says(world, job, "ImagePullBackOff", "pod slurm-job-", IMAGE)
    patch(world, slurmd={"image": "slurmd:sandbox"})
    await all_well(world, job)
    assert world.jobs[job].restarts == 0


@story()
async def pods_that_no_machine_takes(world: World):
    template(world, NOWHERE)
    job = await world.sbatch(JobRequest(seconds=0.2))
    await says(world, job, "Unschedulable", "0/4 nodes are available")
    template(world, {})
    await all_well(world, job)


@story(provisionTimeout="2s")
async def quota_of_pods_that_never_come_is_given_back_for_a_while(world: World):
    template(world, NOWHERE)
    job = await world.sbatch(JobRequest(ntasks=8, seconds=0.2))
    await says(world, job, "quota given back after Unschedulable (attempt ")
    await until(lambda: not any(_usage(world)), what="the quota is free")
    await world.until(
        lambda: re.search(r"after Unschedulable \(attempt [2-9]", world.text(job)), what="it is tried again"
    )
    patch(world, provisionTimeout="10m")
    for machine in world.storage.list(NODES):
        labels = {"metadata": {"labels": {"example.com/gpu": "h100"}}}
        world.storage.patch(NODES, "", machine["metadata"]["name"], labels)
    await all_well(world, job, seconds=40)
    assert len({span.uid for span in world.timeline.jobsets}) == 1


def _usage(world: World) -> list[int]:
    return [amount for queue in world.timeline.usage.values() for amount in queue.values()]


@story(startTimeout="1s")
async def quota_of_a_job_that_slurm_does_not_start_is_given_back_for_a_while(world: World):
    cluster = world.slurm.slurm.cluster  # type: ignore[attr-defined]
    usual, cluster.settings = cluster.settings, replace(cluster.settings, schedule_interval=40.0)
    await asyncio.sleep(0.2)  # it is within the long pause now
    job = await world.sbatch(JobRequest(seconds=0.2))
    await says(world, job, "quota given back after StartTimeout (attempt ")
    assert world.jobs[job].held
    cluster.settings = usual
    patch(world, startTimeout="10m")
    await all_well(world, job, seconds=100)


@story()
async def machines_that_are_cordoned_keep_what_runs_and_get_nothing_new(world: World):
    runs = await world.sbatch(JobRequest(ntasks=4, seconds=600))
    await world.until_state(runs, "RUNNING")
    (pod,) = world.of_job(PODS, runs)
    world.storage.patch(NODES, "", pod["spec"]["nodeName"], {"spec": {"unschedulable": True}})
    late = await world.sbatch(JobRequest(seconds=0.2))
    await world.until_state(late, "COMPLETED")
    assert world.jobs[runs].running
    assert world.jobs[runs].restarts == 0
    machines = {span.name for span in world.timeline.pods if span.job_id == late}
    assert pod["metadata"]["name"] not in machines
    await world.scancel(runs)
    await world.until_quiet()


async def array_on_a_machine(world: World, *, seconds: float) -> tuple[int, str, set[str]]:
    """An array of which two tasks run and two wait, the machine of one of its slots, and the pods there."""
    array = await world.sbatch(JobRequest(array="0-3", cpus_per_task=4, seconds=seconds))
    await world.until(lambda: len(world.timeline.starts) == 2, what="two tasks run")
    pods = [(pod["metadata"]["name"], pod["spec"]["nodeName"]) for pod in world.of_job(PODS, array)]
    machine = pods[0][1]
    return array, machine, {name for name, there in pods if there == machine}


async def all_tasks_complete(world: World, array: int) -> list[int]:
    def tasks() -> list[JobFact]:
        return [job for job in world.jobs.values() if job.unit == array and job.task is not None]

    await world.until(
        lambda: len(tasks()) == 4 and all(one.over for one in tasks()), what="it is over", seconds=40
    )
    await world.until_quiet(seconds=20)
    assert [verdict for verdict in check(world.timeline) if not verdict.holds] == []
    assert {one.state for one in tasks()} == {"COMPLETED"}
    return sorted(one.restarts for one in tasks())


@story()
async def a_cordoned_machine_keeps_the_task_that_runs_there_and_gets_no_other(world: World):
    array, machine, there = await array_on_a_machine(world, seconds=3.0)
    world.storage.patch(NODES, "", machine, {"spec": {"unschedulable": True}})
    await until(
        lambda: any(node.drain and "is cordoned" in node.reason for node in slurm_nodes(world).values()),
        what="its Slurm node says why it drains",
    )
    assert await all_tasks_complete(world, array) == [0, 0, 0, 0]
    late = {name for start in world.timeline.starts[2:] for name in start.nodes}
    assert len(late) > 0
    assert not there & late


@story()
async def a_drained_machine_gives_the_task_that_ran_there_back_and_gets_no_other(world: World):
    array, machine, there = await array_on_a_machine(world, seconds=3.0)
    world.storage.patch(NODES, "", machine, {"spec": {"unschedulable": True}})
    for name in there:
        world.delete(PODS, name)
    restarts = await all_tasks_complete(world, array)
    assert sum(restarts) == len(there)


@story()
async def a_machine_that_is_uncordoned_before_its_task_ends_is_used_again(world: World):
    array, machine, _ = await array_on_a_machine(world, seconds=3.0)
    world.storage.patch(NODES, "", machine, {"spec": {"unschedulable": True}})
    await until(lambda: any(node.drain for node in slurm_nodes(world).values()), what="it drains")
    world.storage.patch(NODES, "", machine, {"spec": {"unschedulable": None}})
    assert await all_tasks_complete(world, array) == [0, 0, 0, 0]


def slurm_nodes(world: World) -> Mapping[str, Any]:
    return world.slurm.slurm.nodes  # type: ignore[attr-defined, no-any-return]


@story()
async def a_job_that_must_not_be_requeued_fails_and_says_why(world: World):
    job = await evict(world, requeue=False)
    await over(world, job, "NODE_FAIL")
    assert "NotRequeued" in world.text(job)
    assert "preempted" in world.text(job)


@story(noRequeuePolicy="Requeue")
async def a_job_that_must_not_be_requeued_runs_again_where_the_policy_says_so(world: World):
    job = await evict(world, requeue=False)
    await over(world, job, "COMPLETED")
    assert world.jobs[job].restarts == 1


@story(requeueLimit=0)
async def a_job_that_was_sent_back_too_often_is_cancelled_and_says_why(world: World):
    job = await evict(world)
    await over(world, job, "CANCELLED")
    assert "requeued 0 times; preempted: " in world.text(job)


@story(requeueLimit=2)
async def a_job_whose_jobset_is_deleted_again_and_again_is_not_requeued_for_ever(world: World):
    job = await world.sbatch(JobRequest(seconds=600))
    for restarts in range(3):
        await world.until(
            lambda restarts=restarts: world.jobs[job].running and world.jobs[job].restarts == restarts,
            what=f"it runs after {restarts} restarts",
        )
        world.delete(JOBSETS, f"slurm-job-{job}")
    await over(world, job, "CANCELLED")
    assert "requeued 2 times; lost: " in world.text(job)


@story(cancelOrphanedJobs=True, orphanGraceTicks=6)
async def an_orphan_is_cancelled_where_that_is_asked_for(world: World):
    job = await world.sbatch(JobRequest(seconds=600))
    await world.until_state(job, "RUNNING")
    world.delete(JOBSETS, f"slurm-job-{job}")
    await asyncio.sleep(0.5)
    assert world.jobs[job].running
    await over(world, job, "CANCELLED")
    assert "Orphaned: its JobSet was deleted" in world.text(job)


async def tell(spec: Mapping[str, Any], told: Story, directory: Path) -> None:
    async with (
        World.start(WorldConfig(directory=directory, slurm=Backend.FAKE, spec=spec)) as world,
        bridge(world),
    ):
        await told(world)


@pytest.mark.timeout(400)
async def test_capacity_that_does_not_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speech, "SETTLE", 0.1)
    monkeypatch.setattr(parking, "FIRST", 0.7)
    await side_by_side({name: partial(tell, *told, tmp_path / name) for name, told in STORIES.items()})
