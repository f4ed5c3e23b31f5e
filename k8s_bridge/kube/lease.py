"""Leader election on a coordination.k8s.io/v1 Lease, compatible with client-go's.

Safety rests on our own monotonic clock alone: from the moment before a renewal was sent, leadership is ours
for `deadline` seconds, while others wait for `duration` seconds from the moment they saw that renewal. A
leader that was frozen finds `held()` False before its first write. Give the lease a client of its own
(`LIMITS`), so that a crowded connection pool never costs the leadership.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from api.views import Object, View
from k8s_bridge.core.effects import ObjectRef, Patch
from k8s_bridge.core.errors import BridgeError, Conflict, Missing
from k8s_bridge.kube.http import Limits
from k8s_bridge.kube.transport import KubeClient

LIMITS = Limits(connect=3.0, read=4.0, write=3.0, pool=1.0, total=8.0, farewell=5.0, connections=2)


class Role(StrEnum):
    """What we are; a term as LEADER always begins and ends with a call of `on_change`."""

    LEADER = "leader"
    STANDBY = "standby"


class LeaseSpec(View, frozen=True):
    """Lease.spec. `renew_time` is compared as text: only a change of it counts, never its value."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object, frozen=True):
    """coordination.k8s.io Lease."""

    GVR = ("coordination.k8s.io", "v1", "leases")
    KIND = "Lease"

    spec: LeaseSpec = LeaseSpec()


def boottime() -> float:
    """Seconds since boot, time asleep included: a suspended machine must notice that its lease ran out."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class LeaderLease:
    """One candidate. `identity` must be unique to this process; times are in seconds.

    A leader renews every `retry`; who waits looks every `look`, since what it sees late it waits longer for.
    """

    def __init__(  # noqa: PLR0913  # the numbers have defaults
        self,
        client: KubeClient,
        *,
        namespace: str,
        name: str,
        identity: str,
        duration: float = 15.0,
        deadline: float = 10.0,
        retry: float = 2.0,
        look: float = 0.5,
        clock: Callable[[], float] = boottime,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_change: Callable[[Role], None] = lambda _: None,
    ) -> None:
        if not retry < deadline < duration:
            raise ValueError("a lease needs retry < deadline < duration")
        self._client = client
        self._ref = ObjectRef(
            api_version="coordination.k8s.io/v1",
            kind="Lease",
            plural="leases",
            namespace=namespace,
            name=name,
        )
        self._identity = identity
        self._duration = duration
        self._deadline = deadline
        self._retry = retry
        self._look_every = look
        self._clock = clock
        self._now = now
        self._on_change = on_change
        self._role = Role.STANDBY
        self._until = float("-inf")
        self._seen: Lease | None = None
        self._seen_at = 0.0
        self._stopping = asyncio.Event()
        self._turn = asyncio.Lock()

    def held(self) -> bool:
        """Whether we may write at this very moment."""
        return self._role is Role.LEADER and self._clock() < self._until

    def holder(self) -> str:
        """Who held the lease when we last looked; "" for nobody."""
        return (self._seen and self._seen.spec.holder_identity) or ""

    async def run(self) -> None:
        """Acquire and renew until `release`. API trouble is waited out; it costs the leadership in time."""
        while not self._stopping.is_set():
            waits = self._look_every
            async with self._turn:
                self._expire()
                try:
                    await self._attempt()
                except BridgeError as error:
                    self._client.observer.on_lease_error(error=error)
                    waits = self._retry
                self._expire()
            await self._pause(self._rest(waits))

    async def release(self) -> None:
        """Stop for good; a held lease is given back so that a standby takes over at once.

        Call it when no write is under way any more: the next leader may begin before this returns.
        """
        self._stopping.set()
        async with self._turn:
            held = self.held()
            self._become(Role.STANDBY)
            if held and self._seen is not None:
                with contextlib.suppress(BridgeError):
                    await self._write(self._seen, holder="", seconds=1)

    async def _attempt(self) -> None:
        if not self.held():
            await self._look()
            if not self._free():
                self._become(Role.STANDBY)
                return
        try:
            await self._take()
        except (Conflict, Missing):
            await self._look()
            if self.holder() != self._identity:
                self._become(Role.STANDBY)
            else:  # an earlier write of ours went through, its answer did not
                await self._take()

    async def _look(self) -> None:
        """Read the lease. Its age counts from when we first saw this state of it, by our own clock."""
        try:
            lease = await self._client.get(Lease, name=self._ref.name, namespace=self._ref.namespace)
        except Missing:
            self._seen = None
            return
        if self._seen is None or lease.spec != self._seen.spec:
            self._seen_at = self._clock()
        self._seen = lease

    def _free(self) -> bool:
        return self.holder() in ("", self._identity) or self._clock() >= self._ends()

    def _ends(self) -> float:
        """When the term of whoever holds the lease is over, as far as we have seen."""
        seconds = (self._seen and self._seen.spec.lease_duration_seconds) or self._duration
        return self._seen_at + seconds

    async def _take(self) -> None:
        """Write ourselves into the lease as we saw it; the term counts from before the write was sent."""
        sent = self._clock()
        self._seen = await self._write(self._seen, holder=self._identity, seconds=round(self._duration))
        self._seen_at = sent
        self._until = sent + self._deadline
        if self._clock() < self._until and not self._stopping.is_set():
            self._become(Role.LEADER)

    async def _write(self, seen: Lease | None, *, holder: str, seconds: int) -> Lease:
        spec = self._spec(seen, holder=holder, seconds=seconds)
        if seen is None:
            meta = {"namespace": self._ref.namespace, "name": self._ref.name}
            manifest = {"apiVersion": self._ref.api_version, "kind": "Lease", "metadata": meta, "spec": spec}
            body = await self._client.create(self._ref, manifest=manifest)
        else:
            version = seen.metadata.resource_version
            body = await self._client.patch(
                Patch(ref=self._ref, patch={"spec": spec}, resource_version=version)
            )
        return msgspec.json.decode(body, type=Lease)

    def _spec(self, seen: Lease | None, *, holder: str, seconds: int) -> dict[str, Any]:
        now = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec: dict[str, Any] = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}
        transitions = (seen.spec.lease_transitions or 0) if seen else 0
        if holder and self.holder() != holder:
            spec |= {"acquireTime": now, "leaseTransitions": transitions + 1 if seen else 0}
        return spec

    def _expire(self) -> None:
        if self._role is Role.LEADER and not self.held():
            self._become(Role.STANDBY)

    def _rest(self, waits: float) -> float:
        """Seconds until the next attempt: no later than a term ends, ours or that of whom we wait for."""
        if self.held():
            return min(self._retry, self._until - self._clock())
        left = self._ends() - self._clock()
        return min(waits, left) if left > 0 else waits

    def _become(self, role: Role) -> None:
        if role is not self._role:
            self._role = role
            self._on_change(role)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
