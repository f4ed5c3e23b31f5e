"""slurmctld, etcd and the bridge: ended, frozen, doubled, with a wrong clock or an old token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from k8s_bridge.sandbox.clock import Clock
from k8s_bridge.sandbox.faults.model import Deed, Scene, Undo
from k8s_bridge.sandbox.slurm_fake.cluster import ROOT

_EXPIRED = -60


async def restart(scene: Scene) -> None:
    """Restart slurmctld."""
    await scene.world.slurm.stop_controller()
    await scene.world.slurm.start_controller()


async def away(scene: Scene) -> Undo:
    """Take slurmctld away until the end."""
    await scene.world.slurm.stop_controller()
    return scene.world.slurm.start_controller


async def expire_token(scene: Scene) -> Undo:
    """The token has expired, and nobody renews it before the end."""
    good = scene.world.slurm.token_file.read_text()
    scene.world.write_token(scene.slurm.mint(ROOT, lifetime=_EXPIRED))

    async def undo() -> None:
        scene.world.write_token(good)

    return undo


@dataclass(frozen=True, slots=True, kw_only=True)
class _Skewed:
    """A clock that is `seconds` ahead of another."""

    clock: Clock
    seconds: float

    def now(self) -> datetime:
        return self.clock.now() + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)


def skew(seconds: float) -> Deed:
    """Let the clock of slurmctld jump, and jump back at the end."""

    async def deed(scene: Scene) -> Undo:
        cluster = scene.slurm.cluster
        right = cluster.clock
        cluster.clock = _Skewed(clock=right, seconds=seconds)

        async def undo() -> None:
            cluster.clock = right

        return undo

    return deed


async def compact(scene: Scene) -> None:
    """Forget the history, as a compaction of etcd does."""
    scene.world.server.forget_history()


async def kill(scene: Scene) -> None:
    """SIGKILL."""
    await scene.bridges.kill()


async def leave(scene: Scene) -> None:
    """SIGTERM."""
    await scene.bridges.restart()


async def freeze(scene: Scene) -> Undo:
    """SIGSTOP, and at the end SIGCONT."""
    await scene.bridges.freeze()
    return scene.bridges.thaw


async def two_leaders(scene: Scene) -> Undo:
    """A second bridge that writes as well."""
    await scene.bridges.second()
    return scene.bridges.single
