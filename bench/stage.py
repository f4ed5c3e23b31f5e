"""A world with a tap before each of its servers, and the bridge under test in it."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml

from bench.bridge import Bridge, eventually
from bench.marks import Mark
from bench.places import Place
from bench.tap import Tap
from bench.witness import Witness
from k8s_bridge.sandbox.world import JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import NAMESPACE

_UP_WITHIN = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a scenario works with. `start` starts the bridge, and returns when it has listed Slurm's jobs."""

    world: World
    witness: Witness
    start: Callable[[], Any]

    async def submit(self, request: JobRequest) -> int:
        """Submit a job; its life begins when sbatch does. Its id."""
        began = perf_counter()
        job_id = await self.world.sbatch(request)
        self.witness.marks.stamp(job_id, Mark.SUBMITTED, began)
        return job_id

    async def until_gone(self, *job_ids: int, seconds: float) -> None:
        """Wait until nothing is left of these jobs. Raises Unmet."""
        marks = self.witness.marks
        await self.world.until(
            lambda: all(marks.has(job_id, Mark.GONE) for job_id in job_ids),
            what="nothing is left of the jobs",
            seconds=seconds,
        )


@contextlib.asynccontextmanager
async def scene(config: WorldConfig, *, place: Place, command: str, witness: Witness) -> AsyncIterator[Scene]:
    """A world that the bridge can reach through the taps alone."""
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(
            Tap(on_request=witness.asked_kube, on_answer=witness.told_kube)
        )
        slurm = await stack.enter_async_context(
            Tap(on_request=witness.asked_slurm, on_answer=witness.told_slurm)
        )
        config = replace(config, slurm=place.slurm, spec={**config.spec, "slurmRestURL": slurm.url})
        world = await stack.enter_async_context(place.start(config))
        slurm.upstream = world.slurm.rest_url
        kubeconfig = tapped(world.kubeconfig, tap=kube)
        witness.watch(world)
        values = {
            "{kubeconfig}": str(kubeconfig),
            "{namespace}": NAMESPACE,
            "{slurm_url}": slurm.url,
            "{token_file}": str(world.slurm.token_file),
        }

        async def start() -> Bridge:
            bridge = Bridge(command, values=values, directory=config.directory, commands=world.slurm.commands)
            stack.push_async_callback(bridge.stop)
            await eventually(
                lambda: bridge.usage() and witness.first_listing is not None,
                seconds=_UP_WITHIN,
                what="the bridge has listed the jobs of Slurm",
            )
            return bridge

        yield Scene(world=world, witness=witness, start=start)


def tapped(original: Path, *, tap: Tap) -> Path:
    """One that leads through the tap to where the original leads."""
    document = yaml.safe_load(original.read_text())
    cluster = document["clusters"][0]["cluster"]
    tap.upstream = cluster["server"]
    if authority := cluster.pop("certificate-authority", ""):
        tap.tls = ssl.create_default_context(cafile=authority)
    cluster["server"] = tap.url
    tapped = original.with_name("kubeconfig-of-the-bridge")
    tapped.write_text(yaml.safe_dump(document))
    return tapped
