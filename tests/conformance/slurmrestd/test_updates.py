"""Updates of waiting jobs."""

from __future__ import annotations

import time

from conformance.slurmrestd.world import SMALL, World, number


async def test_a_feature_that_no_node_has_cannot_be_pinned_to(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit()
    assert await world.update(job_id, constraints="nosuch", comment="no") == (500, [2029])
    assert (await world.job(job_id))["features"] == ""


async def test_unknown_and_wrapped_keys_change_nothing(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit()
    for body in ({"bogus": 1}, {"features": "x"}, {"job": {"comment": "wrapped"}}):
        status, answer = await world.post(f"job/{job_id}", body)
        assert (status, answer["errors"], len(answer["warnings"])) == (200, [], 1)
        assert answer["warnings"][0]["description"].startswith("Ignoring unknown field")
    job = await world.job(job_id)
    assert (job["comment"], job["features"]) == ("", "")


async def test_an_update_complains_of_a_partition_with_too_few_cpus_and_is_made(world: World) -> None:
    job_id = await world.submit(cpus_per_task=4)
    assert await world.update(job_id, hold=True, admin_comment="waiting") == (500, [2015])
    await world.add_node("w-1", "CPUs=3")
    assert await world.update(job_id, comment="still") == (500, [2015])
    job = await world.job(job_id)
    assert (job["state_reason"], job["admin_comment"], job["comment"]) == ("JobHeldAdmin", "waiting", "still")
    await world.add_node("w-2", "CPUs=1")
    assert await world.update(job_id, comment="enough in all") == (200, [])


async def test_required_nodes_are_cleared_by_an_empty_name_only(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit()
    assert await world.update(job_id, required_nodes=["nosuch"]) == (500, [2018])
    assert await world.update(job_id, required_nodes=["nosuch", "w-1"]) == (200, [])
    assert await world.update(job_id, required_nodes=["w-1"]) == (200, [])
    assert await world.update(job_id, required_nodes=[]) == (200, [])
    assert (await world.job(job_id))["required_nodes"] == "w-1"
    assert await world.update(job_id, required_nodes=[""]) == (200, [])
    assert (await world.job(job_id))["required_nodes"] == ""


async def test_a_running_job_keeps_its_constraints_and_takes_texts(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit(hold=False)
    await world.job_becomes(job_id, "RUNNING")
    for late in ({"constraints": "nodes-for-1"}, {"begin_time": number(1)}):
        assert await world.update(job_id, **late) == (500, [2073])
    for possible in ({"admin_comment": "a"}, {"requeue": False}, {"hold": True}, {"hold": False}):
        assert await world.update(job_id, **possible) == (200, [])
    job = await world.job(job_id)
    assert (job["job_state"], job["admin_comment"], job["requeue"]) == (["RUNNING"], "a", False)


async def test_a_job_that_is_over_takes_nothing(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit("true", hold=False)
    await world.job_becomes(job_id, "COMPLETED")
    for late in ({"admin_comment": "a"}, {"hold": True}, {"constraints": ""}):
        assert await world.update(job_id, **late) == (500, [2084])


async def test_a_begin_time_is_shown_as_eligible_and_start_time(world: World) -> None:
    job_id, begin = await world.submit(), int(time.time()) + 1000
    await world.update(job_id, begin_time=number(begin))
    job = await world.job(job_id)
    assert (job["eligible_time"]["number"], job["start_time"]["number"]) == (begin, begin)
    await world.update(job_id, begin_time=number(1))
    job = await world.job(job_id)
    assert job["eligible_time"]["number"] <= time.time()
    assert job["start_time"]["number"] == 0


async def test_a_job_waits_for_its_begin_time(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit(hold=False, begin_time=number(int(time.time()) + 2))
    await world.job_waits_for(job_id, "BeginTime")
    await world.job_becomes(job_id, "RUNNING")


async def test_texts_are_kept_as_they_are_and_cleared_by_an_empty_one(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit()
    text = 'k8s-bridge: waits; "cq" has no room, 2/3 (é)'
    assert await world.update(job_id, comment=text, admin_comment=text) == (200, [])
    job = await world.job(job_id)
    assert (job["comment"], job["admin_comment"]) == (text, text)
    await world.update(job_id, comment="")
    assert (await world.job(job_id))["comment"] == ""


async def test_an_array_is_updated_as_a_whole(world: World) -> None:
    await world.add_node("w-1", SMALL)
    array = await world.submit(array="0-5%2")
    status, answer = await world.post(f"job/{array}_1", {"comment": "x"})
    assert (status, answer["errors"][0]["error_number"]) == (422, 9000)
    assert await world.update(array, hold=True, admin_comment="whole") == (200, [])
    job = await world.job(array)
    assert (job["state_reason"], job["admin_comment"]) == ("JobHeldAdmin", "whole")
    assert (job["array_job_id"]["number"], job["array_task_id"]["set"]) == (array, False)
    assert (job["array_task_string"], job["array_max_tasks"]["number"]) == ("0-5%2", 2)
