"""What the platform does not allow cannot be edited in: the last good spec stays, and that is said."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.adversary import all_well, bridge, side_by_side

from k8s_bridge.runtime.gates import Gates, Transport
from k8s_bridge.sandbox.apiserver.kinds import PODS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world import Backend, JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE

EVIL = "registry.example.com/evil:1"
Patch = Mapping[str, Any]
SIDECAR = {"spec": {"containers": [{"name": "side", "image": EVIL}]}}
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"
DEEP: list[Any] = []
for _ in range(100):
    DEEP = [DEEP]
EDITS: Mapping[str, tuple[Patch, str]] = {
    "image": ({"slurmd": {"image": EVIL}}, f"spec.slurmd.image: {EVIL} is not an image"),
    "sidecar": ({"podTemplate": SIDECAR}, "spec.partitionMappings[0].podTemplate.spec.containers[0].image"),
    "token": ({"slurmTokenFile": "/etc/shadow"}, "spec.slurmTokenFile: /etc/shadow is not a path"),
    "host": ({"slurmRestURL": "http://elsewhere.example.com:6820"}, "spec.slurmRestURL"),
    "a template that never ends": (
        {"podTemplate": {"metadata": {"annotations": {"x": ENDLESS}}}},
        "spec.partitionMappings[0].podTemplate.metadata.annotations.x: For is not allowed",
    ),
    "a template of brackets": ({"podTemplate": {"spec": DEEP}}, "nests deeper than 64 levels"),
    "nothing that can be read": ({"partitionMappings": []}, ""),
}


async def tell(patch: Patch, words: str, directory: Path) -> None:
    async with World.start(WorldConfig(directory=directory, slurm=Backend.FAKE)) as world:
        gates = Gates(
            images=("slurmd",),
            token_paths=(str(directory),),
            slurm_hosts=("127.0.0.1",),
            transport=Transport.INSECURE,
        )
        async with bridge(world, gates=gates):
            runs = await world.sbatch(JobRequest(ntasks=8, seconds=2.5))
            await world.until_state(runs, "RUNNING")
            waits = await world.sbatch(JobRequest(ntasks=2, seconds=0.2))
            await world.until(lambda: world.workload(waits), what="the second waits for quota")
            good = deepcopy(world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"])
            images: set[str] = set()
            world.storage.subscribe(PODS, lambda _, pod: images.update(_images(pod)))
            if words:
                edit(world, patch)
                await says(world, "False", words)
            else:
                with pytest.raises(Exception, match="partitionMappings"):
                    edit(world, patch)
            late = await world.sbatch(JobRequest(seconds=0.2))
            await all_well(world, runs, waits, late)
            assert (world.jobs[runs].restarts, images) == (0, {"slurmd:sandbox"})
            world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": good})
            await says(world, "True", "")


def edit(world: World, patch: Patch) -> None:
    spec = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["spec"]
    if "podTemplate" in patch:
        patch = {"partitionMappings": [{**mapping, **patch} for mapping in spec["partitionMappings"]]}
    world.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"spec": dict(patch)})


async def says(world: World, status: str, words: str) -> None:
    generation = world.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)["metadata"]["generation"]

    def said() -> bool:
        ready = world.mixing_condition("Ready") or {}
        new = ready.get("observedGeneration") == generation
        return new and ready["status"] == status and words in ready.get("message", "")

    await world.until(said, what=f"Ready is {status} and says {words}")


def _images(pod: Mapping[str, Any]) -> set[str]:
    return {container["image"] for container in pod["spec"]["containers"]}


@pytest.mark.timeout(400)
async def test_an_edit_that_the_platform_does_not_allow(tmp_path: Path):
    await side_by_side(
        {name: partial(tell, *edit, tmp_path / str(i)) for i, (name, edit) in enumerate(EDITS.items())}
    )
