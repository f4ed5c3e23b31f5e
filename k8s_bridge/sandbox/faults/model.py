"""What a fault is: rules for requests, or a deed. Data only."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from k8s_bridge.sandbox.apiserver.faults import Rule
from k8s_bridge.sandbox.slurm_fake import FakeSlurm, FaultRule
from k8s_bridge.sandbox.world import World
from k8s_bridge.sandbox.world.fake_side import FakeSide


class NothingToHitError(LookupError):
    """There is nothing that the fault could strike."""


class Side(StrEnum):
    """Where it strikes."""

    KUBE = "Kubernetes API"
    REST = "slurmrestd"
    SLURM = "slurmctld"
    MACHINES = "pods and machines"
    KUEUE = "Kueue and JobSets"
    BRIDGE = "the bridge"


class Bridges(Protocol):
    """The bridges of a world: one that works, and at times a second one."""

    async def kill(self) -> None:
        """End the bridge without a goodbye, and start it again."""

    async def restart(self) -> None:
        """End the bridge gracefully, and start it again."""

    async def freeze(self) -> None:
        """Let the bridge do nothing any more, and not notice."""

    async def thaw(self) -> None:
        """Let it go on."""

    async def second(self) -> None:
        """Start another bridge that takes itself for the leader as well."""

    async def single(self) -> None:
        """End that other bridge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a deed works with. `victim` is the Slurm job that it is aimed at; None leaves it to `chance`."""

    world: World
    bridges: Bridges
    chance: random.Random
    victim: int | None = None

    @property
    def slurm(self) -> FakeSlurm:
        """The fake Slurm of the world; TypeError when it has a real one."""
        if not isinstance(self.world.slurm, FakeSide):
            raise TypeError("this fault needs the fake Slurm")
        return self.world.slurm.slurm


Undo = Callable[[], Awaitable[None]]
Deed = Callable[[Scene], Awaitable[Undo | None]]
"""Does what the fault is, and says how it ends; None for what has passed at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that may go wrong. `text` says what, in a sentence.

    Rules spoil requests as long as the fault lasts; `deed` strikes once.
    """

    name: str
    side: Side
    text: str
    kube: tuple[Rule, ...] = ()
    slurm: tuple[FaultRule, ...] = ()
    deed: Deed | None = None
