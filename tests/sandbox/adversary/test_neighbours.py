"""Two WorkloadMixings on one Slurm, with disjoint partitions: neither touches what is the other's."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
from support.adversary import Writes, all_well, bridge, spied

from k8s_bridge.sandbox.apiserver.kinds import LOCALQUEUES, NAMESPACES, SECRETS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import AUTH_SECRET, BATCH, MIXING, NAMESPACE, TEAM_B, URGENT

OTHER = "elsewhere"


def divide(world: World, *, namespace: str) -> None:
    """Give the second partition to a WorkloadMixing of its own."""
    storage = world.storage
    both = storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
    second = deepcopy(both)
    if namespace != NAMESPACE:
        storage.create(NAMESPACES, {"metadata": {"name": namespace}})
        for kind, name in ((LOCALQUEUES, TEAM_B), (SECRETS, AUTH_SECRET)):
            there = deepcopy(storage.get(kind, NAMESPACE, name))
            storage.create(kind, {**there, "metadata": {"namespace": namespace, "name": name}})
    second["metadata"] = {"namespace": namespace, "name": "second"}
    second["spec"]["localQueue"] = TEAM_B
    for mixing, partition in ((both, BATCH), (second, URGENT)):
        mappings = (
            both["spec"]["partitionMappings"] if mixing is both else second["spec"]["partitionMappings"]
        )
        mixing["spec"]["partitionMappings"] = [m for m in mappings if m["partitionName"] == partition]
    storage.delete(WORKLOADMIXINGS, NAMESPACE, MIXING)
    for mixing in (both, second):
        meta = {key: mixing["metadata"][key] for key in ("namespace", "name")}
        storage.create(WORKLOADMIXINGS, {"metadata": meta, "spec": mixing["spec"]})


@pytest.mark.parametrize("namespace", [NAMESPACE, OTHER])
async def test_two_mixings_on_one_slurm_leave_each_other_alone(namespace: str, tmp_path: Path):
    writes = Writes()
    async with World.start(WorldConfig(directory=tmp_path, slurm=Backend.FAKE)) as world:
        divide(world, namespace=namespace)
        with spied():
            async with bridge(world, writes=writes, namespaces=tuple({NAMESPACE, namespace})):
                jobs = [
                    await world.sbatch(JobRequest(partition=partition, nodes="2", seconds=2.5))
                    for partition in (BATCH, URGENT)
                ]
                await all_well(world, *jobs)
    assert {job: world.jobs[job].restarts for job in jobs} == dict.fromkeys(jobs, 0)
    assert writes.counts["update_nodes"] == 0
    assert writes.counts["delete_node"] == 4, "each node is deleted by its own mixing alone"
