"""Updates of waiting jobs."""

from __future__ import annotations

from conformance.slurmrestd.world import SMALL, World


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
