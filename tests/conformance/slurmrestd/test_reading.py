"""Lists, single records and states."""

from __future__ import annotations

import asyncio
import time

from conformance.slurmrestd.world import SMALL, V, World


async def test_listing_is_all_or_nothing(world: World) -> None:
    job_id = await world.submit()
    full = await world.get("jobs/")
    assert [job["job_id"] for job in full["jobs"]] == [job_id]
    future = int(time.time()) + 3600
    unchanged = await world.get(f"jobs/?update_time={future}")
    assert (unchanged["jobs"], unchanged["last_update"]["number"]) == ([], 0)
    assert unchanged["warnings"][0]["description"].startswith("No job changes since update_time")
    await asyncio.sleep(1.1)
    since = full["last_update"]["number"] - 1
    await world.update(job_id, comment="changed")
    assert [j["comment"] for j in (await world.get(f"jobs/?update_time={since}"))["jobs"]] == ["changed"]


async def test_unchanged_nodes_are_304_without_a_body(world: World) -> None:
    await world.add_node("w-1", SMALL)
    answer = await world.http.get(f"{V}/nodes/?update_time={int(time.time()) + 3600}")
    assert (answer.status_code, answer.content) == (304, b"")


async def test_changed_nodes_are_an_error_while_partitions_are_unchanged(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await asyncio.sleep(2.1)
    since = (await world.get("nodes/"))["last_update"]["number"]
    await asyncio.sleep(1.1)
    await world.post("node/w-1", {"state": ["DRAIN"], "reason": "x"})
    answer = await world.http.get(f"{V}/nodes/?update_time={since}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["error_number"]) == (500, -1)
    assert (error["source"], error["description"]) == ("_dump_nodes", "Unable to query partitions")


async def test_states_name_each_array_task(world: World) -> None:
    plain = await world.submit()
    array = await world.submit(array="0-2")
    rows = (await world.get("jobs/state/"))["jobs"]
    assert {row["job_id"] for row in rows} >= {str(plain)}
    mine = [row for row in rows if row["job_id"].startswith(f"{array}_")]
    assert {tuple(row["state"]) for row in mine} == {("PENDING",)}
    some = (await world.get(f"jobs/state/?job_id={plain}"))["jobs"]
    assert [row["job_id"] for row in some] == [str(plain)]


async def test_an_unknown_job(world: World) -> None:
    answer = await world.http.get(f"{V}/job/99999")
    assert (answer.status_code, answer.json()["jobs"]) == (404, [])
    assert answer.json()["errors"][0]["error_number"] == 2017
    assert await world.update(99999, comment="x") == (404, [2017])
    status, answer = await world.delete("job/99999")
    assert (status, answer["errors"]) == (200, [])
    assert answer["status"][0]["error"]["code"] == 2017


async def test_a_job_id_that_is_none(world: World) -> None:
    answer = await world.http.get(f"{V}/job/abc")
    assert (answer.status_code, answer.json()["errors"][0]["error_number"]) == (422, 9000)


async def test_unknown_nodes(world: World) -> None:
    answer = await world.http.get(f"{V}/node/nosuch")
    assert answer.status_code == 200
    assert "nodes" not in answer.json()
    status, body = await world.post("node/nosuch", {"state": ["DRAIN"], "reason": "x"})
    assert (status, body["errors"][0]["error_number"]) == (500, 2018)
    status, body = await world.delete("node/nosuch")
    assert (status, body["errors"][0]["error_number"]) == (500, 2018)
