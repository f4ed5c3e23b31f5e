"""The State API of a head."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.timeout(600)


async def test_nodes_tell_what_they_offer(ray):
    nodes = await ray.state("nodes", detail="true")
    head = next(n for n in nodes if n["is_head_node"])
    worker = next(n for n in nodes if not n["is_head_node"] and n["state"] == "ALIVE")

    for node in (head, worker):
        assert node["labels"]["ray.io/node-id"] == node["node_id"]
        assert len(node["node_id"]) == 56
        assert node["resources_total"][f"node:{node['node_ip']}"] == 1.0
        assert (node["start_time_ms"] > 0, node["end_time_ms"], node["node_name"]) == (
            True,
            0,
            node["node_ip"],
        )
        assert node["resources_total"]["object_store_memory"] > 0
    assert head["labels"]["ray.io/node-group"] == "headgroup"
    assert worker["labels"]["ray.io/node-group"] == "common"
    assert "CPU" not in head["resources_total"]
    assert head["resources_total"]["node:__internal_head__"] == 1.0
    assert worker["resources_total"]["CPU"] == 1.0
    assert head["state_message"] is None


async def test_what_is_detail_is_left_out_unless_asked_for(ray):
    (brief,) = await ray.state("nodes", ("is_head_node", "=", "True"))

    assert not {"start_time_ms", "end_time_ms"} & brief.keys()


async def test_rows_are_filtered_and_limited(ray):
    everything = await ray.state("nodes")

    assert {n["state"] for n in await ray.state("nodes", ("state", "=", "alive"))} == {"ALIVE"}
    assert all(not n["is_head_node"] for n in await ray.state("nodes", ("is_head_node", "!=", "True")))
    assert len(await ray.state("nodes", limit="1")) == 1
    assert len(everything) >= 2


@pytest.mark.parametrize(
    "query", [{"limit": "100000"}, {"filter_keys": "labels", "filter_predicates": "=", "filter_values": "x"}]
)
async def test_what_cannot_be_asked_is_refused(ray, query):
    answer = await ray.head.get("/api/v0/nodes", params=query)

    assert (answer.status_code, answer.json()["result"]) == (400, False)


async def test_a_job_shows_as_its_supervisor(ray):
    name = await ray.submit("sleep 300")
    await ray.until_job(name, "RUNNING")
    waiting = await ray.submit("true", entrypoint_resources={"nowhere": 1})

    async def both() -> dict | None:
        rows = {a["name"]: a for a in await ray.state("actors", ("class_name", "=", "JobSupervisor"))}
        names = [f"_ray_internal_job_actor_{n}" for n in (name, waiting)]
        return {n: rows[n] for n in names} if all(n in rows for n in names) else None

    running, pending = (await ray.until(both, what="two supervisors")).values()

    assert (running["state"], pending["state"]) == ("ALIVE", "PENDING_CREATION")
    assert running["node_id"] == (await ray.job(name))["driver_node_id"]
    assert not pending["node_id"]
    assert running["job_id"] == pending["job_id"] == "01000000"
    await ray.head.post(f"/api/jobs/{name}/stop")


async def test_tasks_actors_and_placement_groups_are_lists(ray):
    for what in ("tasks", "actors", "placement_groups"):
        assert isinstance(await ray.state(what, detail="true", limit="10000"), list)
