from __future__ import annotations

import time
from collections.abc import AsyncIterator

import httpx
import pytest
from conformance.slurmrestd.world import V

from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Fault, FaultRule


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlurm]:
    async with await FakeSlurm.start() as slurm:
        yield slurm


@pytest.fixture
async def http(fake: FakeSlurm) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"X-SLURM-USER-TOKEN": fake.token}
    async with httpx.AsyncClient(base_url=fake.rest_url, headers=headers, timeout=5) as client:
        yield client


async def test_an_error_status_as_often_as_said(fake: FakeSlurm, http: httpx.AsyncClient) -> None:
    fake.inject(FaultRule(fault=Fault.STATUS, match="GET .*jobs", status=503, times=2))
    statuses = [(await http.get(f"{V}/jobs/")).status_code for _ in range(3)]
    assert statuses == [503, 503, 200]
    assert (await http.get(f"{V}/nodes/")).status_code == 200


async def test_no_answer_outlasts_the_clients_patience(fake: FakeSlurm, http: httpx.AsyncClient) -> None:
    fake.inject(FaultRule(fault=Fault.HANG, seconds=0.5))
    with pytest.raises(httpx.ReadTimeout):
        await http.get(f"{V}/jobs/", timeout=0.1)


async def test_slow_but_right(fake: FakeSlurm, http: httpx.AsyncClient) -> None:
    fake.submit()
    fake.inject(FaultRule(fault=Fault.SLOW, seconds=0.2))
    before = time.monotonic()
    assert len((await http.get(f"{V}/jobs/")).json()["jobs"]) == 1
    assert time.monotonic() - before >= 0.2


@pytest.mark.parametrize(("fault", "comment"), [(Fault.RESET, ""), (Fault.LOST_ANSWER, "done")])
async def test_broken_connections(
    fake: FakeSlurm, http: httpx.AsyncClient, fault: Fault, comment: str
) -> None:
    fake.register_node("w-1", "CPUs=1")
    job_id = fake.submit()
    fake.inject(FaultRule(fault=fault, match="POST"))
    with pytest.raises(httpx.RemoteProtocolError):
        await http.post(f"{V}/job/{job_id}", json={"comment": "done"})
    assert (await http.get(f"{V}/job/{job_id}")).json()["jobs"][0]["comment"] == comment


async def test_lists_that_lie(fake: FakeSlurm, http: httpx.AsyncClient) -> None:
    for _ in range(2):
        fake.submit()
    for path in ("jobs/", "jobs/state/"):
        fake.inject(FaultRule(fault=Fault.EMPTY_LIST))
        answer = await http.get(f"{V}/{path}")
        assert (answer.status_code, answer.json()["jobs"]) == (200, [])
    fake.inject(FaultRule(fault=Fault.MALFORMED_ITEM))
    broken, whole = (await http.get(f"{V}/jobs/")).json()["jobs"]
    assert (broken["job_id"], whole["job_id"]) == ("?", 2)
    fake.inject(FaultRule(fault=Fault.STALE, seconds=1000))
    last = (await http.get(f"{V}/jobs/")).json()["last_update"]["number"]
    assert 990 < time.time() - last < 1010
    fake.inject(FaultRule(fault=Fault.NOT_JSON))
    with pytest.raises(ValueError, match="Expecting value"):
        (await http.get(f"{V}/jobs/")).json()


async def test_the_same_seed_draws_the_same_faults(fake: FakeSlurm, http: httpx.AsyncClient) -> None:
    async def statuses(seed: int) -> list[int]:
        fake.inject(FaultRule(fault=Fault.STATUS, probability=0.5), seed=seed)
        return [(await http.get(f"{V}/jobs/")).status_code for _ in range(20)]

    first = await statuses(1)
    assert set(first) == {200, 500}
    assert first == await statuses(1)
    assert first != await statuses(2)
