from __future__ import annotations

import time
import tracemalloc
from collections.abc import AsyncIterator

import httpx
import pytest
from conformance.slurmrestd.world import V

from k8s_bridge.sandbox.slurm_fake import FakeSlurm

MANY = 20_000


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    tracemalloc.start()
    async with await FakeSlurm.start() as fake:
        for _ in range(MANY):
            fake.submit(comment="x", cpus_per_task=2, memory_per_node=100)
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert used / MANY < 3_000
        headers = {"X-SLURM-USER-TOKEN": fake.token}
        async with httpx.AsyncClient(base_url=fake.rest_url, headers=headers, timeout=60) as client:
            yield client


async def seconds_of(http: httpx.AsyncClient, path: str) -> tuple[float, httpx.Response]:
    before = time.monotonic()
    answer = await http.get(f"{V}/{path}")
    return time.monotonic() - before, answer


async def test_twenty_thousand_held_jobs(http: httpx.AsyncClient) -> None:
    quick = min([(await seconds_of(http, "jobs/state/"))[0] for _ in range(5)])
    one, _ = await seconds_of(http, "job/17")
    _, listing = await seconds_of(http, "jobs/")
    assert listing.content.count(b'"job_id"') == MANY
    assert 7_000 < len(listing.content) / MANY < 9_000
    assert quick < 0.3  # 0.1 on an idle machine
    assert one < 0.1
