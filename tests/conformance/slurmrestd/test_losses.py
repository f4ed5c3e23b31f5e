"""Lost nodes, requeued jobs, and a slurmctld that starts again."""

from __future__ import annotations

import time

from conformance.slurmrestd.world import SMALL, World


async def test_a_node_set_down_requeues_its_job_and_can_be_deleted(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.add_node("other", "CPUs=1")
    job_id = await world.submit()
    await world.pin_and_release(job_id, "nodes-for-1")
    await world.job_becomes(job_id, "RUNNING")
    await world.lose_node("w-1")
    assert "RUNNING" in (await world.job(job_id))["job_state"]
    assert (await world.post("node/w-1", {"state": ["DOWN"], "reason": "pod lost"}))[0] == 200
    job = await world.job(job_id)
    assert "PENDING" in job["job_state"]
    assert (job["hold"], job["restart_cnt"], job["features"]) == (False, 1, "nodes-for-1")
    wait = job["eligible_time"]["number"] - time.time()
    assert 3 < wait <= 6
    assert (await world.delete("node/w-1"))[0] == 200


async def test_hold_and_begin_time_in_one_call_end_the_wait_after_a_requeue(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.add_node("other", "CPUs=1")
    job_id = await world.submit()
    await world.pin_and_release(job_id, "nodes-for-1")
    await world.job_becomes(job_id, "RUNNING")
    await world.post("node/w-1", {"state": ["DOWN"], "reason": "pod lost"})
    begin = {"set": True, "infinite": False, "number": int(time.time())}
    assert await world.update(job_id, hold=True, begin_time=begin) == (200, [])
    job = await world.job(job_id)
    assert job["state_reason"] == "JobHeldAdmin"
    assert job["eligible_time"]["number"] <= time.time()
    await world.lose_node("w-1")
    await world.delete("node/w-1")
    await world.add_node("w-2", SMALL)
    started = time.monotonic()
    await world.update(job_id, hold=False)
    await world.job_becomes(job_id, "RUNNING")
    assert time.monotonic() - started < 3


async def test_no_requeue_means_node_fail(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit(hold=False, requeue=False)
    await world.job_becomes(job_id, "RUNNING")
    await world.post("node/w-1", {"state": ["DOWN"], "reason": "pod lost"})
    job = await world.job_becomes(job_id, "NODE_FAIL")
    assert job["failed_node"] == "w-1"


async def test_a_job_pinned_to_a_deleted_node_fails_for_good_at_a_restart(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.add_node("w-2", SMALL)
    by_name, by_feature = await world.submit(), await world.submit()
    await world.update(by_name, required_nodes=["w-1"])
    await world.update(by_feature, constraints="nodes-for-1")
    await world.lose_node("w-1")
    assert (await world.delete("node/w-1"))[0] == 200
    await world.restart()
    await world.job_becomes(by_name, "NODE_FAIL")
    assert "PENDING" in (await world.job(by_feature))["job_state"]


async def test_restart_keeps_everything_a_clean_one_nothing(world: World) -> None:
    await world.add_node("w-1", SMALL)
    held, running = await world.submit(), await world.submit(hold=False)
    await world.job_becomes(running, "RUNNING")
    await world.restart()
    assert (await world.job(held))["hold"] is True
    assert "RUNNING" in (await world.job(running))["job_state"]
    assert (await world.node("w-1"))["features"] == ["nodes-for-1"]
    await world.restart(clean=True)
    assert ((await world.get("jobs/"))["jobs"], (await world.get("nodes/"))["nodes"]) == ([], [])


async def test_a_hold_outlives_a_requeue(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit(hold=False)
    await world.job_becomes(job_id, "RUNNING")
    assert await world.update(job_id, hold=True, admin_comment="ours") == (200, [])
    await world.post("node/w-1", {"state": ["DOWN"], "reason": "pod lost"})
    job = await world.job_becomes(job_id, "PENDING")
    assert (job["hold"], job["state_reason"], job["admin_comment"]) == (True, "JobHeldAdmin", "ours")
