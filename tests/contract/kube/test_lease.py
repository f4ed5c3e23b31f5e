from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager

import pytest

from k8s_bridge.kube.lease import LeaderLease, Role
from tests.contract.http_server import Exchange, answer, hang
from tests.contract.kube.shapes import status

LEASES = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
LEASE = f"{LEASES}/bridge"


class LeaseApi:
    """The one Lease, with the API server's optimistic concurrency."""

    def __init__(self, server, spec=None):
        self.spec = spec
        self.version = 1
        server.on("GET", LEASE, self._get)
        server.on("POST", LEASES, self._create)
        server.on("PATCH", LEASE, self._patch)

    async def _get(self, exchange: Exchange) -> None:
        await (self._object() if self.spec is not None else answer(404, status(404, "NotFound")))(exchange)

    async def _create(self, exchange: Exchange) -> None:
        if self.spec is not None:
            await answer(409, status(409, "AlreadyExists"))(exchange)
            return
        self._store(exchange.request.json()["spec"])
        await self._object()(exchange)

    async def _patch(self, exchange: Exchange) -> None:
        body = exchange.request.json()
        if body["metadata"]["resourceVersion"] != str(self.version):
            await answer(409, status(409, "Conflict"))(exchange)
            return
        self._store({**self.spec, **body["spec"]})
        await self._object()(exchange)

    def _store(self, spec):
        self.spec = spec
        self.version += 1

    def _object(self):
        meta = {"name": "bridge", "namespace": "ns", "resourceVersion": str(self.version)}
        return answer(200, {"metadata": meta, "spec": self.spec})


class Candidate:
    def __init__(self, client, identity, **times):
        self.now = 1000.0
        self.roles: asyncio.Queue[Role] = asyncio.Queue()
        times = {"duration": 15, "deadline": 10, "retry": 0.02, "look": 0.02} | times
        self.lease = LeaderLease(
            client,
            namespace="ns",
            name="bridge",
            identity=identity,
            clock=lambda: self.now,
            on_change=self.roles.put_nowait,
            **times,
        )

    async def becomes(self, role):
        assert await asyncio.wait_for(self.roles.get(), 5) is role

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.lease.run())
        try:
            yield self
        finally:
            await self.lease.release()
            await task


async def test_the_first_candidate_creates_the_lease_as_client_go_does(server, client):
    api = LeaseApi(server)
    async with Candidate(client, "one").running() as one:
        await one.becomes(Role.LEADER)
        assert one.lease.held()
        assert one.lease.holder() == "one"
        spec = dict(api.spec)
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)
    for name in ("acquireTime", "renewTime"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec[name])


async def test_a_leader_renews_and_keeps_its_acquire_time(server, client):
    api = LeaseApi(server)
    async with Candidate(client, "one").running() as one:
        await one.becomes(Role.LEADER)
        first = dict(api.spec)
        await server.arrived("PATCH", LEASE, count=3)
        assert api.spec["acquireTime"] == first["acquireTime"]
        assert api.spec["renewTime"] > first["renewTime"]
        assert api.spec["leaseTransitions"] == 0
        assert one.roles.empty()


async def test_a_release_lets_the_standby_take_over_at_once(server, client):
    api = LeaseApi(server)
    async with Candidate(client, "one").running() as one:
        await one.becomes(Role.LEADER)
        async with Candidate(client, "two").running() as two:
            await server.arrived("GET", LEASE, count=3)
            assert not two.lease.held()
            await one.lease.release()
            assert not one.lease.held()
            await one.becomes(Role.STANDBY)
            await two.becomes(Role.LEADER)  # the clocks stood still: nothing expired
            assert (api.spec["holderIdentity"], api.spec["leaseTransitions"]) == ("two", 1)


async def test_a_silent_leader_is_followed_after_its_duration_by_our_own_clock(server, client):
    api = LeaseApi(server, {"holderIdentity": "dead", "leaseDurationSeconds": 15, "leaseTransitions": 4})
    async with Candidate(client, "two").running() as two:
        await server.arrived("GET", LEASE, count=2)
        two.now += 14.9
        await server.arrived("GET", LEASE, count=len(server.requests) + 2)
        assert not two.lease.held()
        two.now += 0.2
        await two.becomes(Role.LEADER)
        assert api.spec["leaseTransitions"] == 5


async def test_a_living_leader_is_never_followed_whatever_its_clock_says(server, client):
    api = LeaseApi(server, {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "0"})
    async with Candidate(client, "two").running() as two:
        for beat in range(1, 6):
            await server.arrived("GET", LEASE, count=len(server.requests) + 2)
            two.now += 10
            api.spec = {**api.spec, "renewTime": str(beat)}
            await server.arrived("GET", LEASE, count=len(server.requests) + 2)
            assert not two.lease.held()
    assert api.spec["holderIdentity"] == "one"


async def test_a_frozen_leader_knows_before_it_asks_anyone(server, client):
    LeaseApi(server)
    async with Candidate(client, "one", retry=5).running() as one:
        await one.becomes(Role.LEADER)
        one.now += 9.9
        assert one.lease.held()
        one.now += 0.2
        assert not one.lease.held()


async def test_the_term_counts_from_before_the_renewal_was_sent(server, client):
    api = LeaseApi(server)
    one = Candidate(client, "one")

    async def slow_create(exchange):
        one.now += 11  # the process froze while its request was under way
        await api._create(exchange)

    server.on("POST", LEASES, slow_create)
    task = asyncio.create_task(one.lease.run())
    await server.arrived("GET", LEASE, count=2)  # it does not trust the answer, it looks again
    assert not one.lease.held()
    assert one.roles.empty()
    await one.becomes(Role.LEADER)
    await one.lease.release()
    await task


async def test_a_frozen_leader_that_was_followed_becomes_standby(server, client):
    api = LeaseApi(server)
    async with Candidate(client, "one", retry=0.05).running() as one:
        await one.becomes(Role.LEADER)
        api._store({**api.spec, "holderIdentity": "two", "leaseTransitions": 1})
        await one.becomes(Role.STANDBY)
        assert not one.lease.held()
    assert api.spec["holderIdentity"] == "two"  # releasing gives back nothing that is not ours


async def test_a_leader_that_cannot_renew_steps_down_and_comes_back(server, client, seen):
    api = LeaseApi(server)
    async with Candidate(client, "one").running() as one:
        await one.becomes(Role.LEADER)
        server.on("PATCH", LEASE, answer(503))
        await server.arrived("PATCH", LEASE, count=len(server.to("PATCH", LEASE)) + 1)
        assert one.lease.held()
        one.now += 10.1
        await one.becomes(Role.STANDBY)
        server.on("PATCH", LEASE, api._patch)
        await one.becomes(Role.LEADER)
    assert seen.errors


async def test_a_renewal_whose_answer_was_lost_does_not_cost_the_term(server, client):
    api = LeaseApi(server)

    async def stores_but_never_answers(exchange):
        api._store({**api.spec, **exchange.request.json()["spec"]})
        server.on("PATCH", LEASE, api._patch)
        await hang(exchange)

    async with Candidate(client, "one").running() as one:
        await one.becomes(Role.LEADER)
        server.on("PATCH", LEASE, stores_but_never_answers)
        await server.arrived("GET", LEASE, count=2)
        await server.arrived("PATCH", LEASE, count=len(server.to("PATCH", LEASE)) + 2)
        assert one.lease.held()
        assert one.roles.empty()


async def test_two_that_start_together_yield_one_leader(server, client):
    LeaseApi(server)
    async with Candidate(client, "one").running() as one, Candidate(client, "two").running() as two:
        await server.arrived("PATCH", LEASE, count=3)
        assert [one.lease.held(), two.lease.held()].count(True) == 1


def test_times_that_cannot_be_safe_are_refused(client):
    with pytest.raises(ValueError, match="deadline"):
        Candidate(client, "one", deadline=15)


async def test_release_writes_an_empty_holder(server, client):
    LeaseApi(server)
    async with Candidate(client, "one", retry=5).running() as one:
        await one.becomes(Role.LEADER)
    spec = json.loads(server.to("PATCH", LEASE)[-1].body)["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
