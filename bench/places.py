"""Where scenarios run: in the sandbox, or on the testbed with its real Kubernetes, Kueue and Slurm."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from k8s_bridge.sandbox.world import Backend, World, WorldConfig

NAMES = ("sandbox", "testbed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What makes a world there, and what the machines of such a world can take."""

    name: str
    start: Callable[[WorldConfig], AbstractAsyncContextManager[World]]
    slurm: Backend
    cpus: int
    """The most that pods may ask for together."""
    rate: float
    """Jobs in a second that do not crowd each other: pods of the testbed are processes on real cores."""


def place(name: str, *, slurm: Backend = Backend.FAKE) -> Place:
    """The place of that name. `slurm` is for the sandbox: the testbed has a real one."""
    if name == "sandbox":
        return Place(name=name, start=World.start, slurm=slurm, cpus=256, rate=5.0)
    from testbed.world import RealWorld  # noqa: PLC0415 - there only where `make testbed-bench` runs

    return Place(name=name, start=RealWorld.start, slurm=Backend.REAL, cpus=24, rate=1.0)
