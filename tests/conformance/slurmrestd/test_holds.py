"""Who holds a job and who may release it."""

from __future__ import annotations

from conformance.slurmrestd.world import SMALL, World, number


async def test_our_hold_cannot_be_released_by_the_owner(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit(user="nobody")
    assert await world.update(job_id, hold=True) == (200, [])
    job = await world.job(job_id)
    assert (job["hold"], job["state_reason"], job["user_name"]) == (True, "JobHeldAdmin", "nobody")
    assert await world.update(job_id, user="nobody", hold=False) == (500, [2002])
    assert await world.update(job_id, user="nobody", comment="mine") == (200, [])
    assert await world.update(job_id, user="nobody", admin_comment="no") == (500, [2002])


async def test_a_users_hold_can_be_released_by_the_owner(world: World) -> None:
    await world.add_node("w-1", "CPUs=1")
    job_id = await world.submit(user="nobody")
    assert await world.update(job_id, user="daemon", hold=False) == (500, [2010])
    assert await world.update(job_id, user="nobody", hold=False) == (200, [])
    await world.job_becomes(job_id, "RUNNING")


async def test_a_job_that_runs_can_be_held_and_released_and_runs_on(world: World) -> None:
    await world.add_node("w-1", "CPUs=1")
    job_id = await world.submit(hold=False)
    await world.job_becomes(job_id, "RUNNING")
    assert await world.update(job_id, hold=True, admin_comment="ours") == (200, [])
    job = await world.job(job_id)
    assert (job["hold"], job["job_state"], job["priority"]["number"]) == (True, ["RUNNING"], 0)
    assert await world.update(job_id, hold=False, admin_comment="not ours") == (200, [])
    job = await world.job(job_id)
    assert (job["hold"], job["job_state"], job["admin_comment"]) == (False, ["RUNNING"], "not ours")


async def test_a_release_without_any_node_complains_and_is_done(world: World) -> None:
    job_id = await world.submit()
    assert await world.update(job_id, hold=False) == (500, [2015])
    job = await world.job_waits_for(job_id, "PartitionConfig")
    assert job["hold"] is False


async def test_priority_is_no_way_around_a_hold(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit()
    number = {"set": True, "infinite": False, "number": 100}
    assert await world.update(job_id, priority=number) == (500, [2042])
    assert (await world.job(job_id))["hold"] is True


async def test_a_vanished_feature_turns_a_waiting_job_bad_until_it_is_back(world: World) -> None:
    await world.add_node("other", "CPUs=1")
    await world.add_node("w-1", SMALL)
    waiting, held = await world.submit(), await world.submit()
    for job_id in (waiting, held):
        await world.update(job_id, constraints="nodes-for-1")
    await world.lose_node("w-1")
    await world.delete("node/w-1")
    await world.update(waiting, hold=False)
    job = await world.job_waits_for(waiting, "BadConstraints")
    assert (job["hold"], job["job_state"], job["priority"]["number"]) == (True, ["PENDING"], 0)
    await world.add_node("w-2", SMALL)
    await world.job_becomes(waiting, "RUNNING")
    assert (await world.job(held))["state_reason"] == "JobHeldUser"


async def test_released_with_too_few_nodes_of_its_own_a_job_is_held_by_slurm(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.add_node("other", SMALL.replace("for-1", "for-2"))
    job_id = await world.submit(minimum_nodes=2, maximum_nodes=2, tasks=2)
    await world.pin_and_release(job_id, "nodes-for-1")
    job = await world.job_waits_for(job_id, "BadConstraints")
    assert job["hold"] is True


async def test_an_owner_cannot_raise_a_priority(world: World) -> None:
    await world.add_node("w-1", "CPUs=1")
    job_id = await world.submit(user="nobody", hold=False)
    assert await world.update(job_id, user="nobody", priority=number(99_999)) == (500, [2002])
