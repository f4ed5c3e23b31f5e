"""A WorkloadMixing that is edited, spoiled, deleted and made again while its jobs wait and run."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from support.adversary import all_well, bridge, side_by_side, until

from k8s_bridge.core import naming
from k8s_bridge.runtime.process import Process
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import HIGH, MIXING, NAMESPACE, TEAM_B

Story = Callable[[World], Awaitable[None]]
STORIES: dict[str, Story] = {}


def story(told: Story) -> Story:
    STORIES[told.__name__] = told
    return told


async def tell(told: Story, directory: Path) -> None:
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world, bridge(world):
        await told(world)


async def a_file_is_followed_as_a_resource_is(directory: Path) -> None:
    """Waiting jobs follow it, running ones are left alone; a bad edit leaves the last good one in force."""
    file = directory / "mixing.yaml"
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world:
        spec = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]
        world.delete(WORKLOADMIXINGS, MIXING)

        def write(image: str, **fields: Any) -> None:
            changed = {**spec, "slurmd": {**spec["slurmd"], "image": image}, **fields}
            metadata = {"namespace": NAMESPACE, "name": MIXING}
            new = file.with_suffix(".new")
            new.write_text(yaml.safe_dump({"metadata": metadata, "spec": changed}))
            new.replace(file)

        write("slurmd:sandbox")
        async with bridge(world, config=file) as process:
            runs, waits = await one_runs_one_waits(world)
            write("slurmd:new")
            await until(lambda: image(world, waits) == "slurmd:new", what="the waiting job has the new image")
            assert image(world, runs) == "slurmd:sandbox"
            write("slurmd:bad", localQueu="x")
            await until(lambda: refused(process), what="it is told")
            late = await world.sbatch(JobRequest(ntasks=2, seconds=0.2))
            await until(lambda: image(world, late) == "slurmd:new", what="the last good one is in force")
            await the_other_completes(world, runs, waits)
            await all_well(world, late)


def refused(process: Process) -> bool:
    """There is no object whose status could say it: what `/metrics` tells."""
    told = process._metrics.text().decode()
    return bool(re.search(r'^k8s_bridge_condition\{[^}]*type="Ready"[^}]*\} 0', told, re.MULTILINE))


async def a_drain_that_was_begun_is_ended_by_the_next_process(directory: Path) -> None:
    spec = {"deletionPolicy": "Drain"}
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE, spec=spec)) as world:
        async with bridge(world):
            runs, waits = await one_runs_one_waits(world)
            await until(lambda: mixing(world)["metadata"].get("finalizers"), what="it has a finalizer")
            world.delete(WORKLOADMIXINGS, MIXING)
            await until(
                lambda: not world.of_job(JOBSETS, waits), what="the waiting job's request is withdrawn"
            )
        async with bridge(world):
            assert world.jobs[runs].running
            await world.scancel(runs)
            await until(lambda: not mixing(world), what="the mixing is gone when its last job is")
        assert world.storage.list(JOBSETS, namespace=NAMESPACE) == []
        assert world.jobs[waits].held
        await world.scancel(waits)
        await world.until_quiet()


def mixing(world: World) -> dict[str, Any]:
    return dict(world.storage.find(WORKLOADMIXINGS, NAMESPACE, MIXING) or {})


def edit(world: World, change: Callable[[dict[str, Any]], None]) -> None:
    mixing = deepcopy(world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING))
    change(mixing["spec"])
    world.storage.update(WORKLOADMIXINGS, mixing)


LONG = 600.0


async def one_runs_one_waits(world: World) -> tuple[int, int]:
    """The first runs until somebody cancels it."""
    runs = await world.sbatch(JobRequest(ntasks=8, seconds=LONG))
    await world.until_state(runs, "RUNNING")
    waits = await world.sbatch(JobRequest(ntasks=2, seconds=0.2))
    await world.until(lambda: world.workload(waits), what="the second is queued")
    return runs, waits


async def the_other_completes(world: World, runs: int, waits: int) -> None:
    """When the one that ran to the end, untouched, makes room."""
    assert world.jobs[runs].running
    assert world.jobs[runs].restarts == 0
    await world.scancel(runs)
    await all_well(world, waits)


def jobset(world: World, job_id: int) -> dict[str, Any]:
    (found,) = world.of_job(JOBSETS, job_id) or [{}]
    return found


def image(world: World, job_id: int) -> str:
    found = jobset(world, job_id)
    if not found:
        return ""
    pod = found["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return str(pod["containers"][0]["image"])


@story
async def a_waiting_job_follows_the_spec_and_a_running_one_is_left_alone(world: World):
    runs, waits = await one_runs_one_waits(world)

    def change(spec: dict[str, Any]) -> None:
        spec["slurmd"]["image"] = "slurmd:new"
        spec["partitionMappings"][0] |= {"localQueue": TEAM_B, "workloadPriorityClass": HIGH}
        spec["partitionMappings"][0]["podTemplate"] = {"metadata": {"labels": {"team": "b"}}}

    edit(world, change)
    await until(
        lambda: image(world, waits) == "slurmd:new", what="the waiting job is asked for with the new image"
    )
    labels = jobset(world, waits)["metadata"]["labels"]
    assert (labels[naming.QUEUE_NAME], labels[naming.PRIORITY_CLASS]) == (TEAM_B, HIGH)
    assert image(world, runs) == "slurmd:sandbox"
    await the_other_completes(world, runs, waits)


@story
async def an_edit_that_changes_no_jobset_makes_none_anew(world: World):
    runs, waits = await one_runs_one_waits(world)
    before = jobset(world, waits)["metadata"]["uid"]
    edit(world, lambda spec: spec.update(pollInterval="2s", slurmRequestTimeout="7s", startTimeout="5m"))
    await the_other_completes(world, runs, waits)
    assert [span.uid for span in world.timeline.jobsets if span.job_id == waits] == [before]


@story
async def a_partition_that_is_taken_out_keeps_its_running_jobs_and_gives_the_rest_back(world: World):
    runs, waits = await one_runs_one_waits(world)
    mapping = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]["partitionMappings"][0]
    edit(world, lambda spec: spec["partitionMappings"].pop(0))
    await until(lambda: not world.of_job(JOBSETS, waits), what="the waiting job's request is withdrawn")
    await until(lambda: "batch is not managed" in world.jobs[waits].text, what="people are told")
    assert world.jobs[runs].running
    edit(world, lambda spec: spec["partitionMappings"].insert(0, mapping))
    await the_other_completes(world, runs, waits)


@story
async def a_spec_that_cannot_be_used_leaves_the_last_good_one_in_force(world: World):
    runs, waits = await one_runs_one_waits(world)

    def bad_template(spec: dict[str, Any]) -> None:
        spec["partitionMappings"][0]["podTemplate"] = {"metadata": {"labels": {"x": "{{ oops"}}}

    edit(world, bad_template)
    await until(
        lambda: "podTemplate.metadata.labels.x" in str(_ready(world)), what="Ready says where it is wrong"
    )
    await the_other_completes(world, runs, waits)
    edit(world, lambda spec: spec["partitionMappings"][0].pop("podTemplate"))
    await until(lambda: _ready(world)["status"] == "True", what="Ready is True again")


@story
async def deleted_and_made_again_it_takes_over_what_it_left(world: World):
    runs, waits = await one_runs_one_waits(world)
    mixing = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
    world.delete(WORKLOADMIXINGS, MIXING)
    metadata = {"namespace": NAMESPACE, "name": MIXING}
    world.storage.create(WORKLOADMIXINGS, {"metadata": metadata, "spec": mixing["spec"]})
    await the_other_completes(world, runs, waits)


def _ready(world: World) -> dict[str, Any]:
    return world.mixing_condition("Ready") or {"status": ""}


async def test_edits(tmp_path: Path):
    stories = {name: partial(tell, told, tmp_path / name) for name, told in STORIES.items()}
    alone = (a_file_is_followed_as_a_resource_is, a_drain_that_was_begun_is_ended_by_the_next_process)
    await side_by_side(stories | {told.__name__: partial(told, tmp_path / told.__name__) for told in alone})
