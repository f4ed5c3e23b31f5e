"""A world with a tap before each of its servers, and the bridge under test in it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from bench.bridge import Bridge, eventually
from bench.tap import Tap
from bench.witness import Witness
from k8s_bridge.sandbox.world import World, WorldConfig
from k8s_bridge.sandbox.world.config import NAMESPACE

_UP_WITHIN = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a scenario works with. `start` starts the bridge, and returns when it has listed Slurm's jobs."""

    world: World
    witness: Witness
    start: Callable[[], Any]


@contextlib.asynccontextmanager
async def scene(config: WorldConfig, *, command: str, witness: Witness) -> AsyncIterator[Scene]:
    """A world that the bridge can reach through the taps alone."""
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(
            Tap(on_request=witness.asked_kube, on_answer=witness.told_kube)
        )
        slurm = await stack.enter_async_context(
            Tap(on_request=witness.asked_slurm, on_answer=witness.told_slurm)
        )
        tapped = replace(config, spec={**config.spec, "slurmRestURL": slurm.url})
        world = await stack.enter_async_context(World.start(tapped))
        kube.upstream, slurm.upstream = world.server.url, world.slurm.rest_url
        witness.watch(world)
        values = {
            "{kubeconfig}": str(_kubeconfig(world.kubeconfig, url=kube.url)),
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


def _kubeconfig(original: Path, *, url: str) -> Path:
    document = yaml.safe_load(original.read_text())
    document["clusters"][0]["cluster"]["server"] = url
    tapped = original.with_name("kubeconfig-of-the-bridge")
    tapped.write_text(yaml.safe_dump(document))
    return tapped
