"""The client and the poller against real daemons, through the life of a job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from k8s_bridge.core.errors import Conflict, Missing, Retry, Terminal
from k8s_bridge.kube.store import Table
from k8s_bridge.sandbox.slurm_real import RealSlurm, available
from k8s_bridge.sandbox.slurm_real.world import INSIDE
from k8s_bridge.slurm.client import (
    AT_ONCE,
    Hold,
    JobUpdate,
    Listing,
    NodeState,
    SlurmClient,
    SlurmEndpoint,
    TokenSource,
)
from k8s_bridge.slurm.client.results import Glance
from k8s_bridge.slurm.model import Job, Node
from k8s_bridge.slurm.poller import Poller

pytestmark = pytest.mark.slurm
SLEEP = "#!/bin/sh\nsleep 300\n"
PIN = "nodes-for-1"
REQUEUE_DELAY = f"AuthInfo=socket={INSIDE}/munge/socket,cred_expire=600"
"""Slurm's own wait after a requeue is far longer than anything that is waited for here."""


@pytest.fixture(params=("24.11", "22.05"))
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RealSlurm]:
    if reason := available(request.param):
        pytest.skip(reason)
    slurm = await RealSlurm.start(request.param, tmp_path, extra_conf=REQUEUE_DELAY)
    try:
        yield slurm
    finally:
        await slurm.stop()


@pytest.fixture
async def client(cluster: RealSlurm, tmp_path: Path) -> AsyncIterator[SlurmClient]:
    scontrol = tmp_path / "scontrol-of-the-cluster"
    scontrol.write_text(f'#!/bin/sh\nexec {cluster.world.enter} scontrol "$@"\n')
    scontrol.chmod(0o755)
    endpoint = SlurmEndpoint(base_url=cluster.rest_url, scontrol=str(scontrol))
    made = SlurmClient(endpoint, token=TokenSource.file(cluster.token_file))
    try:
        yield made
    finally:
        await made.close()


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 60.0) -> None:
    """Ask again and again, as the bridge does, also after an answer that says so."""

    async def holds() -> bool:
        try:
            return await condition()
        except Retry:
            return False

    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - a daemon sets no event
            await asyncio.sleep(0.02)


async def usable(client: SlurmClient, name: str) -> bool:
    listing = await client.nodes()
    assert isinstance(listing, Listing)
    return any(node.name == name and node.usable for node in listing.items)


async def start_node(cluster: RealSlurm, client: SlurmClient, name: str, *, feature: str) -> None:
    word = "Feature" if cluster.release.api_version == "v0.0.38" else "Features"
    cluster.slurmd(name, f"CPUs=2 RealMemory=1000 {word}={feature}")
    await until(lambda: usable(client, name))


async def in_state(client: SlurmClient, job_id: int, state: str) -> None:
    async def there() -> bool:
        return state in (await client.job(job_id)).states

    await until(there)


async def run_pinned(cluster: RealSlurm, client: SlurmClient, *, node: str) -> int:
    job_id = await cluster.sbatch("--hold", "--requeue", "-N1", script=SLEEP)
    await start_node(cluster, client, node, feature=PIN)
    await client.update_job(job_id, JobUpdate(constraints=PIN))
    await client.update_job(job_id, JobUpdate(hold=Hold.RELEASE))
    await in_state(client, job_id, "RUNNING")
    return job_id


async def test_the_hold_is_taken_over_while_there_is_no_node_at_all(
    cluster: RealSlurm, client: SlurmClient
) -> None:
    job_id = await cluster.sbatch("--hold", "-N1", script=SLEEP)
    assert (await client.job(job_id)).reason == "JobHeldUser"
    await client.update_job(job_id, JobUpdate(hold=Hold.TAKE, comment="c", admin_comment="a"))
    job = await client.job(job_id)
    assert (job.held, job.reason, job.comment) == (True, "JobHeldAdmin", "c")
    await client.update_job(job_id, JobUpdate(hold=Hold.RELEASE))
    assert not (await client.job(job_id)).held
    with pytest.raises(Conflict):
        await client.update_job(job_id, JobUpdate(constraints="no-node-has-it"))


async def test_a_job_whose_node_is_lost_is_held_again_and_starts_elsewhere_without_a_wait(
    cluster: RealSlurm, client: SlurmClient
) -> None:
    job_id = await run_pinned(cluster, client, node="first")
    with pytest.raises(Retry):
        await client.delete_node("first")
    await client.update_nodes(("first", "unknown"), state=NodeState.DOWN, reason="k8s-bridge: lost")
    await in_state(client, job_id, "PENDING")
    await client.update_job(job_id, JobUpdate(hold=Hold.TAKE, constraints="", begin_time=AT_ONCE))
    await client.delete_node("first")
    await client.delete_node("first")
    job = await client.job(job_id)
    assert (job.held, job.reason, job.features, job.restart_count) == (True, "JobHeldAdmin", "", 1)
    assert job.eligible_time <= time.time() + 1
    await start_node(cluster, client, "second", feature=PIN)
    await client.update_job(job_id, JobUpdate(constraints=PIN))
    await client.update_job(job_id, JobUpdate(hold=Hold.RELEASE))
    await in_state(client, job_id, "RUNNING")
    assert (await client.job(job_id)).nodes == "second"


async def test_nodes_are_drained_with_our_reason_and_resumed(cluster: RealSlurm, client: SlurmClient) -> None:
    await start_node(cluster, client, "a", feature=PIN)
    await client.update_nodes(("a",), state=NodeState.DRAIN, reason="k8s-bridge: a reason; of words")
    node = await client.node("a")
    assert (node.usable, node.reason, node.features) == (False, "k8s-bridge: a reason; of words", (PIN,))
    await client.update_nodes(("a",), state=NodeState.RESUME)
    await until(lambda: usable(client, "a"))
    with pytest.raises(Missing):
        await client.node("unknown")


async def test_unknown_jobs_are_missing_and_finished_ones_are_cancelled_already(
    cluster: RealSlurm, client: SlurmClient
) -> None:
    job_id = await cluster.sbatch("--hold", "-N1", script=SLEEP)
    await client.cancel(job_id)
    await client.cancel(job_id)
    for asked in (client.job(999), client.cancel(999), client.update_job(999, JobUpdate(comment="x"))):
        with pytest.raises(Missing):
            await asked


async def test_an_array_is_held_and_released_as_one(cluster: RealSlurm, client: SlurmClient) -> None:
    job_id = await cluster.sbatch("--hold", "--array=1-3", script=SLEEP)
    await client.update_job(job_id, JobUpdate(hold=Hold.TAKE))
    assert (await client.job(job_id)).reason == "JobHeldAdmin"
    states = await client.job_states()
    assert states in (None, {job_id: Glance(frozenset({"PENDING"}), frozenset({1, 2, 3}))})
    assert (await client.job(job_id)).array_size == 3
    await client.update_job(job_id, JobUpdate(hold=Hold.RELEASE))
    assert not (await client.job(job_id)).held


async def test_an_expired_token_is_told_apart_from_a_slurmctld_that_is_down(
    cluster: RealSlurm, client: SlurmClient
) -> None:
    await client.jobs()
    good = cluster.token
    cluster.token_file.write_text(cluster.mint("root", lifetime=-10))
    with pytest.raises(Terminal) as caught:
        await client.jobs()
    assert caught.value.reason == "TokenInvalid"
    cluster.token_file.write_text(good)
    await cluster.stop_controller()
    with pytest.raises(Retry):
        await client.jobs()


@asynccontextmanager
async def polling(client: SlurmClient) -> AsyncIterator[tuple[Poller, Table[Job]]]:
    jobs: Table[Job] = Table(lambda job: str(job.job_id))
    nodes: Table[Node] = Table(lambda node: node.name)
    poller = Poller(client, jobs, nodes, pace=lambda: 0.05, period=1.0)
    task = asyncio.create_task(poller.run())
    try:
        yield poller, jobs
    finally:
        poller.stop()
        await task


async def row_shows(jobs: Table[Job], job_id: int, condition: Callable[[Job], bool]) -> None:
    async def shown() -> bool:
        row = jobs.get(str(job_id))
        return row is not None and condition(row)

    await until(shown)


async def test_the_poller_sees_new_jobs_hidden_changes_restarts_and_that_all_is_forgotten(
    cluster: RealSlurm, client: SlurmClient
) -> None:
    first = await cluster.sbatch("--hold", "-N1", script=SLEEP)
    async with polling(client) as (poller, jobs):
        await poller.synced.wait()
        assert jobs.keys() == (str(first),)
        second = await cluster.sbatch("--hold", "-N1", script=SLEEP)
        await row_shows(jobs, second, lambda job: job.held)
        await client.update_job(first, JobUpdate(hold=Hold.TAKE))
        await row_shows(jobs, first, lambda job: job.reason == "JobHeldAdmin")
        await cluster.restart_controller()
        third = await cluster.sbatch("--hold", "-N1", script=SLEEP)
        await row_shows(jobs, third, lambda job: job.held)
        assert set(jobs.keys()) == {str(first), str(second), str(third)}
        await client.cancel(second)
        await row_shows(jobs, second, lambda job: job.terminal)
        await cluster.restart_controller(clean=True)

        async def forgotten() -> bool:
            return len(jobs) == 0

        await until(forgotten)
