"""When the lookout asks Slurm, and for what."""

from __future__ import annotations

import asyncio

from k8s_bridge.core.errors import Retry
from k8s_bridge.slurm.client.results import License, Partition
from k8s_bridge.slurm.eligibility import Availability
from k8s_bridge.slurm.lookout import Lookout
from k8s_bridge.slurm.model import Reservation


class Slurm:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.state = "UP"
        self.away = False
        self.shared = False
        self.time = 0.0
        self.seen: list[Availability] = []
        self.lookout = Lookout(
            self, shared=lambda: self.shared, seen=self.seen.append, clock=lambda: self.time
        )

    async def look(self) -> list[str]:
        self.asked.clear()
        self.lookout.glance(interval=10)
        for _ in range(5):
            await asyncio.sleep(0)
        return list(self.asked)

    async def partitions(self):
        self._note("partitions")
        return (Partition(name="all", states=frozenset({self.state})),)

    async def licenses(self):
        self._note("licenses")
        return (License(name="m", free=2),)

    async def reservations(self):
        self._note("reservations")
        return (Reservation(name="r"),)

    def _note(self, what: str) -> None:
        if self.away:
            raise Retry("slurmctld is away")
        self.asked.append(what)


async def test_it_asks_once_in_an_interval_and_for_licenses_only_while_somebody_needs_them():
    slurm = Slurm()
    assert await slurm.look() == ["partitions"]
    slurm.time = 9
    assert await slurm.look() == []
    slurm.shared = True
    assert await slurm.look() == ["partitions", "licenses", "reservations"], "nothing is assumed to be free"
    assert await slurm.look() == []
    slurm.time = 20
    assert await slurm.look() == ["partitions", "licenses", "reservations"]


async def test_only_changes_are_told():
    slurm = Slurm()
    for slurm.time in (0, 10, 20):
        await slurm.look()
    assert slurm.seen == [Availability(partitions={"all": frozenset({"UP"})})]
    slurm.state, slurm.time = "DOWN", 30
    await slurm.look()
    assert slurm.seen[1:] == [Availability(partitions={"all": frozenset({"DOWN"})})]


async def test_what_cannot_be_read_stays_as_it_was():
    slurm = Slurm()
    await slurm.look()
    slurm.away, slurm.time = True, 10
    await slurm.look()
    assert len(slurm.seen) == 1
