"""WorkloadMixings that get in each other's way: one partition twice, two Slurm clusters, another cluster."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support.adversary import all_well, bridge

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.errors import ApiError
from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.controllers.conditions import find
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Settings
from k8s_bridge.sandbox.slurmd_runtime import FakeSlurmdRuntime
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import BATCH, MIXING, NAMESPACE, PARTITIONS, URGENT

SECOND = "second"
RAY = {
    "localQueue": "science",
    "managedClusters": [{"name": "shared"}],
    "poolMappings": [{"pool": "default", "workloadPriorityClass": "normal"}],
}


def second(world: World, **spec: Any) -> None:
    """Another WorkloadMixing like the first, younger, with changes."""
    first = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
    meta = {"namespace": NAMESPACE, "name": SECOND}
    world.storage.create(WORKLOADMIXINGS, {"metadata": meta, "spec": deepcopy(first["spec"]) | spec})


def serves(world: World, *partitions: str) -> None:
    """The first mixing is to serve these alone."""
    mappings = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]["partitionMappings"]
    kept = [mapping for mapping in mappings if mapping["partitionName"] in partitions]
    world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": {"partitionMappings": kept}})


def condition(world: World, name: str, kind: str) -> dict[str, Any]:
    found = world.storage.find(WORKLOADMIXINGS, NAMESPACE, name)
    return dict(find(found, kind) or {}) if found else {}


def server_of(world: World, job_id: int) -> str | None:
    found = world.of_job(JOBSETS, job_id)
    return found[0]["metadata"]["labels"][naming.WORKLOADMIXING] if found else None


@contextlib.asynccontextmanager
async def fake_world(path: Path) -> AsyncIterator[World]:
    async with World.start(WorldConfig(directory=path, slurm=Backend.FAKE)) as world:
        yield world


async def test_the_older_of_two_mixings_serves_a_shared_partition(tmp_path: Path):
    async with fake_world(tmp_path) as world:
        serves(world, BATCH)
        second(world)
        world.storage.patch(
            WORKLOADMIXINGS,
            NAMESPACE,
            SECOND,
            {
                "spec": {
                    "partitionMappings": [
                        {"partitionName": name, "workloadPriorityClass": "normal"} for name in PARTITIONS
                    ]
                }
            },
        )
        async with bridge(world):
            await world.until(
                lambda: condition(world, SECOND, "Conflicting").get("status") == "True",
                what="the younger says that it conflicts",
            )
            assert (
                f"{BATCH} is served by {NAMESPACE}/{MIXING}"
                in condition(world, SECOND, "Conflicting")["message"]
            )
            assert condition(world, SECOND, "Ready")["status"] == "False"
            assert condition(world, MIXING, "Conflicting").get("status") != "True"
            jobs = [await world.sbatch(JobRequest(partition=name, seconds=1.0)) for name in PARTITIONS]
            both = await world.sbatch(JobRequest(partition=f"{URGENT},{BATCH}", seconds=1.0))
            for job_id, name in ((jobs[0], MIXING), (jobs[1], SECOND), (both, SECOND)):
                await world.until(
                    lambda job_id=job_id: server_of(world, job_id), what=f"{name} serves {job_id}"
                )
                assert server_of(world, job_id) == name
            await all_well(world, *jobs, both)
            world.delete(WORKLOADMIXINGS, MIXING)
            heir = await world.sbatch(JobRequest(partition=BATCH, seconds=1.0))
            await world.until(lambda: server_of(world, heir), what="the younger takes over")
            assert server_of(world, heir) == SECOND
            await all_well(world, heir)


async def test_two_slurm_clusters_in_one_namespace_have_the_same_job_ids(tmp_path: Path):
    async with fake_world(tmp_path) as world:
        other = await FakeSlurm.start(Settings(name="other", partitions=PARTITIONS, cred_expire=1.0))
        try:
            (tmp_path / "other").write_text(other.token)
            second(world, slurmRestURL=other.rest_url, slurmTokenFile=str(tmp_path / "other"))
            here, there = world.controllers.kubelets._select, FakeSlurmdRuntime(other)
            world.controllers.kubelets._select = lambda pod: (
                there if pod["metadata"]["labels"].get(naming.WORKLOADMIXING) == SECOND else here(pod)
            )
            async with bridge(world):
                await world.until(
                    lambda: condition(world, SECOND, "Ready").get("status") == "True", what="both are ready"
                )
                job = await world.sbatch(JobRequest(seconds=1.5))
                twin = other.submit(run_time=1.5, **JobRequest(seconds=1.5).description())
                assert job == twin
                await world.until(
                    lambda: other.jobs[twin].state.value == "COMPLETED", what="the twin completes"
                )
                await world.until_quiet()
                assert world.jobs[job].state == "COMPLETED"
                names = [span.name for span in world.timeline.jobsets]
                assert len(set(names)) == 2, names
                assert other.nodes == {}
        finally:
            await other.stop()


async def test_a_mixing_that_is_pointed_to_another_cluster_touches_nothing(tmp_path: Path):
    async with fake_world(tmp_path) as world:
        other = await FakeSlurm.start(Settings(name="other", partitions=PARTITIONS))
        try:
            async with bridge(world):
                job = await world.sbatch(JobRequest(seconds=4.0))
                await world.until_state(job, "RUNNING")
                (tmp_path / "other").write_text(other.token)
                there = {"slurmRestURL": other.rest_url, "slurmTokenFile": str(tmp_path / "other")}
                before = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]
                back = {key: before[key] for key in there}
                world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": there})
                await world.until(
                    lambda: condition(world, MIXING, "SlurmReachable").get("reason") == "OtherCluster",
                    what="it says that the JobSets are another cluster's",
                )
                assert world.of_job(JOBSETS, job)
                assert world.jobs[job].running
                world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": back})
                await all_well(world, job)
                assert world.jobs[job].restarts == 0
        finally:
            await other.stop()


async def test_a_mixing_for_ray_alone_is_left_alone_until_it_names_a_slurm_cluster(tmp_path: Path):
    async with fake_world(tmp_path) as world:
        spec = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]
        world.delete(WORKLOADMIXINGS, MIXING)
        world.storage.create(
            WORKLOADMIXINGS, {"metadata": {"namespace": NAMESPACE, "name": "ray"}, "spec": {"ray": RAY}}
        )
        async with bridge(world):
            await world.until(lambda: condition(world, "ray", "Ready"), what="it says that it is seen")
            assert condition(world, "ray", "Ready")["reason"] == "NoSlurm"
            assert condition(world, "ray", "Ready")["status"] == "True"
            job = await world.sbatch(JobRequest(seconds=1.0))

            world.storage.patch(WORKLOADMIXINGS, NAMESPACE, "ray", {"spec": spec})

            await all_well(world, job)
            assert condition(world, "ray", "Ready")["reason"] == "Ready"
            taken_out = dict.fromkeys(("slurmRestURL", "localQueue", "partitionMappings", "slurmd"))
            with pytest.raises(ApiError, match="cannot be taken out; delete the WorkloadMixing"):
                world.storage.patch(WORKLOADMIXINGS, NAMESPACE, "ray", {"spec": taken_out})
