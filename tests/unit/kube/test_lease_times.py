"""How long nobody leads: a second more than the lease after a crash, less than a second after a farewell."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from support.virtual import run_virtually

from k8s_bridge.core.errors import Conflict, Missing
from k8s_bridge.kube.lease import LeaderLease, Lease, Role

DURATION = 15.0
ANSWERS_AFTER = 0.02


class Api:
    """The one Lease, and what a client of it does."""

    observer = None

    def __init__(self) -> None:
        self.lease: dict[str, Any] = {}
        self.reads = 0

    async def get(self, *_: Any, **__: Any) -> Lease:
        await asyncio.sleep(ANSWERS_AFTER)
        self.reads += 1
        if not self.lease:
            raise Missing("no lease")
        return msgspec.convert(self.lease, Lease)

    async def create(self, _ref: object, *, manifest: dict[str, Any]) -> bytes:
        return self._written("", manifest["spec"])

    async def patch(self, effect: Any) -> bytes:
        await asyncio.sleep(ANSWERS_AFTER)
        return self._written(effect.resource_version, effect.patch["spec"])

    def _written(self, version: str, spec: dict[str, Any]) -> bytes:
        there = self.lease.get("metadata", {}).get("resourceVersion", "")
        if version != there:
            raise Conflict("changed")
        meta = {"name": "bridge", "namespace": "hpc", "resourceVersion": str(int(there or 0) + 1)}
        self.lease = {"metadata": meta, "spec": {**self.lease.get("spec", {}), **spec}}
        return msgspec.json.encode(self.lease)


class Candidate:
    def __init__(self, api: Api, name: str) -> None:
        clock = asyncio.get_running_loop().time
        self.leads = asyncio.Event()
        self.lease = LeaderLease(
            api,  # type: ignore[arg-type]
            namespace="hpc", name="bridge", identity=name, clock=clock, on_change=self._changed,
        )  # fmt: skip
        self.task = asyncio.create_task(self.lease.run())

    def _changed(self, role: Role) -> None:
        if role is Role.LEADER:
            self.leads.set()

    async def ends(self) -> None:
        await self.lease.release()
        await self.task


async def two(api: Api, *, apart: float) -> tuple[Candidate, Candidate]:
    first = Candidate(api, "one")
    await first.leads.wait()
    await asyncio.sleep(apart)
    return first, Candidate(api, "two")


@pytest.mark.parametrize("apart", [0.1, 0.33, 0.77, 1.4])
@pytest.mark.parametrize("after", [30.0, 30.5, 31.0, 31.7])
def test_a_leader_that_is_killed_is_followed_within_a_second_of_its_lease(apart: float, after: float) -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        first, second = await two(Api(), apart=apart)
        await asyncio.sleep(after)
        first.task.cancel()
        killed = clock()
        await second.leads.wait()
        assert DURATION - 2.1 < clock() - killed <= DURATION + 1
        assert not first.lease.held()
        await second.ends()

    run_virtually(story)


@pytest.mark.parametrize("apart", [0.1, 0.33, 0.77])
def test_a_leader_that_says_farewell_is_followed_within_a_second(apart: float) -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        first, second = await two(Api(), apart=apart)
        await asyncio.sleep(30)
        await first.ends()
        gone = clock()
        await second.leads.wait()
        assert clock() - gone <= 1
        await second.ends()

    run_virtually(story)


def test_who_waits_asks_twice_a_second_and_no_more() -> None:
    async def story() -> None:
        api = Api()
        first, second = await two(api, apart=0.1)
        before = api.reads
        await asyncio.sleep(60)
        assert api.reads - before <= 120
        assert not second.leads.is_set()
        await second.ends()
        await first.ends()

    run_virtually(story)
