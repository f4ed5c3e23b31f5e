"""Nodes: draining, deleting, coming again."""

from __future__ import annotations

from conformance.slurmrestd.world import SMALL, World


async def test_drain_keeps_what_runs_and_starts_nothing_new(world: World) -> None:
    await world.add_node("w-1", SMALL)
    first = await world.submit(hold=False)
    await world.job_becomes(first, "RUNNING")
    assert (await world.post("node/w-1", {"state": ["DRAIN"], "reason": "bridge: done"}))[0] == 200
    node = await world.node("w-1")
    assert {"DRAIN"} < set(node["state"])
    assert node["reason"] == "bridge: done"
    assert "RUNNING" in (await world.job(first))["job_state"]
    second = await world.submit(hold=False, constraints="nodes-for-1")
    await world.delete(f"job/{first}")
    await world.node_becomes("w-1", "IDLE")
    assert (await world.job(second))["job_state"] == ["PENDING"]
    assert (await world.post("node/w-1", {"state": ["RESUME"]}))[0] == 200
    await world.job_becomes(second, "RUNNING")


async def test_a_busy_node_cannot_be_deleted_an_idle_one_can(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit(hold=False)
    await world.job_becomes(job_id, "RUNNING")
    status, answer = await world.delete("node/w-1")
    assert (status, answer["errors"][0]["error_number"]) == (500, 2016)
    await world.delete(f"job/{job_id}")

    async def deleted() -> bool:
        return (await world.delete("node/w-1"))[0] == 200

    await world.until(deleted)
    assert (await world.get("nodes/"))["nodes"] == []


async def test_a_new_conf_is_ignored_while_the_record_lives(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.lose_node("w-1")
    await world.add_node("w-1", "CPUs=2 Features=nodes-for-2")
    assert (await world.node("w-1"))["features"] == ["nodes-for-1"]
