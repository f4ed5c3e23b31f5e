"""Reads now and then what jobs share in Slurm: states of partitions, free licenses, reservations.

Licenses and reservations are asked for only while some job asks for one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from k8s_bridge.core.errors import BridgeError
from k8s_bridge.slurm.client.port import SlurmReads
from k8s_bridge.slurm.eligibility import UNASKED, Availability


class Lookout:
    """Looks at most once in `interval` seconds when `glance` is called; `seen` is told of changes."""

    def __init__(
        self,
        client: SlurmReads,
        *,
        shared: Callable[[], bool],
        seen: Callable[[Availability], None],
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._shared = shared
        self._seen = seen
        self._clock = clock
        self._last = UNASKED
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    def glance(self, *, interval: float) -> None:
        """Look, if it is time; a job that shares something makes the first look due at once."""
        waits = self._last.licenses is None and self._shared()
        due = waits or self._clock() - self._looked_at >= interval
        if due and (self._looking is None or self._looking.done()):
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        """What cannot be read stays as it was: the poller says when Slurm does not answer."""
        self._looked_at = self._clock()
        with contextlib.suppress(BridgeError):
            found = await self._read()
            if found != self._last:
                self._last = found
                self._seen(found)

    async def _read(self) -> Availability:
        partitions = {one.name: one.states for one in await self._client.partitions()}
        if not self._shared():
            return Availability(partitions=partitions)
        licenses = {one.name: one.free for one in await self._client.licenses()}
        reservations = {one.name: one for one in await self._client.reservations()}
        return Availability(partitions=partitions, licenses=licenses, reservations=reservations)
