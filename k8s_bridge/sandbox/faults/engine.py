"""Makes faults begin and end, and counts how often each has struck."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from k8s_bridge.sandbox.apiserver.faults import CutWatch
from k8s_bridge.sandbox.faults.model import Bridges, Fault, NothingToHitError, Scene, Undo
from k8s_bridge.sandbox.world import World


@dataclass(slots=True, kw_only=True, eq=False)
class _Running:
    fault: Fault
    undo: Undo | None


class FaultEngine:
    """The faults of one world. A fault that is there already does not begin twice."""

    def __init__(self, world: World, *, bridges: Bridges, seed: int = 0) -> None:
        self.strikes: Counter[str] = Counter()
        """Of faults that have ended, by name: the requests that were spoiled, or the deeds done."""
        self._scene = Scene(world=world, bridges=bridges, chance=random.Random(seed))  # noqa: S311 - repeatable
        self._running: dict[str, _Running] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the faults that have begun and not ended."""
        return tuple(self._running)

    async def begin(self, fault: Fault, *, victim: int | None = None) -> bool:
        """Let it begin, aimed at the Slurm job `victim` if one is named.

        Whether it has begun: it has not if it is there already, or if there is nothing that it could strike.
        """
        if fault.name in self._running:
            return False
        scene = Scene(
            world=self._scene.world, bridges=self._scene.bridges, chance=self._scene.chance, victim=victim
        )
        try:
            undo = await fault.deed(scene) if fault.deed else None
        except NothingToHitError:
            return False
        for rule in fault.kube:
            scene.world.server.faults.add(rule)
        for spoiled in fault.slurm:
            scene.slurm.faults.add(spoiled)
        if any(isinstance(rule.fault, CutWatch) for rule in fault.kube):
            scene.world.server.end_watches()  # what is open may be so for minutes: new ones are struck
        self._running[fault.name] = _Running(fault=fault, undo=undo)
        return True

    async def end(self, name: str) -> None:
        """Let it end; one that is not there is no error."""
        running = self._running.pop(name, None)
        if running is None:
            return
        fault = running.fault
        self.strikes[name] += self._strikes(fault)
        for rule in fault.kube:
            self._scene.world.server.faults.remove(rule)
        for spoiled in fault.slurm:
            self._scene.slurm.faults.remove(spoiled)
        if running.undo:
            await running.undo()

    async def end_all(self) -> None:
        """End what has begun, the last first."""
        for name in reversed(self.running):
            await self.end(name)

    def _strikes(self, fault: Fault) -> int:
        spoiled = sum(self._scene.world.server.faults.hits(rule) for rule in fault.kube)
        if fault.slurm:
            spoiled += sum(self._scene.slurm.faults.hits(rule) for rule in fault.slurm)
        return spoiled + (fault.deed is not None)
