"""What the bridge relies on, asserted of the fake and of real daemons alike."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest

from k8s_bridge.sandbox.slurm_fake.versions import records

from .conftest import V, World

SMALL = "CPUs=4 RealMemory=4000 Features=nodes-for-1"


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return type(value)


async def test_a_held_job_shows_what_was_asked(world: World) -> None:
    job_id = await world.submit(minimum_nodes=1, maximum_nodes=1, tasks=4, cpus_per_task=2, comment="mine")
    job = await world.job(job_id)
    assert (job["job_state"], job["hold"], job["state_reason"]) == (["PENDING"], True, "JobHeldUser")
    assert job["priority"]["number"] == 0
    assert job["max_nodes"]["number"] == 1
    assert (job["tasks"]["number"], job["cpus_per_task"]["number"], job["cpus"]["number"]) == (4, 2, 8)
    assert (job["comment"], job["name"], job["partition"], job["nodes"]) == ("mine", "t", "all", "")


async def test_records_have_the_captured_shape(world: World) -> None:
    job = await world.job(await world.submit())
    node = await world.node(await world.add_node("w-1", SMALL))
    expected = records("v0.0.42")
    assert {k: shape(v) for k, v in job.items()} == {k: shape(v) for k, v in expected["job"].items()}
    assert {k: shape(v) for k, v in node.items()} == {k: shape(v) for k, v in expected["node"].items()}


async def test_a_held_submit_warns(world: World) -> None:
    _, answer = await world.try_submit(bogus=1)
    texts = [warning["description"] for warning in answer["warnings"]]
    assert texts[0] == 'Ignoring unknown field "bogus" of type 64 bit integer in DATA_PARSER_JOB_DESC_MSG'
    assert texts[-1] == "Job is in held state, pending scheduler release"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"environment": []}, 2019),
        ({"partition": "nosuch"}, 2000),
        ({"constraints": "nosuch"}, 2029),
        ({"tres_per_node": "gpu:3"}, 2115),
    ],
)
async def test_submits_that_are_refused(world: World, options: dict[str, Any], error: int) -> None:
    await world.add_node("w-1", SMALL)
    status, answer = await world.try_submit(**options)
    assert (status, [item["error_number"] for item in answer["errors"]]) == (500, [error])


async def test_held_jobs_larger_than_anything_are_taken_without_a_node(world: World) -> None:
    await world.submit(minimum_nodes=50)
    await world.submit(tres_per_node="gres/gpu:8")


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


async def test_pin_release_run_end(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit("sleep 1")
    await world.pin_and_release(job_id, "nodes-for-1")
    running = await world.job_becomes(job_id, "RUNNING")
    assert (running["nodes"], running["features"], running["hold"]) == ("w-1", "nodes-for-1", False)
    assert {"ALLOCATED", "MIXED"} & set((await world.node("w-1"))["state"])
    done = await world.job_becomes(job_id, "COMPLETED")
    assert (done["exit_code"]["return_code"]["number"], done["nodes"]) == (0, "w-1")
    await world.node_becomes("w-1", "IDLE")


async def test_a_script_that_fails(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit("exit 3", hold=False)
    job = await world.job_becomes(job_id, "FAILED")
    assert (job["exit_code"]["return_code"]["number"], job["state_reason"]) == (3, "NonZeroExitCode")


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


async def test_an_update_complains_of_a_partition_with_too_few_cpus_and_is_made(world: World) -> None:
    job_id = await world.submit(cpus_per_task=4)
    assert await world.update(job_id, hold=True, admin_comment="waiting") == (500, [2015])
    await world.add_node("w-1", "CPUs=3")
    assert await world.update(job_id, comment="still") == (500, [2015])
    job = await world.job(job_id)
    assert (job["state_reason"], job["admin_comment"], job["comment"]) == ("JobHeldAdmin", "waiting", "still")
    await world.add_node("w-2", "CPUs=1")
    assert await world.update(job_id, comment="enough in all") == (200, [])


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


async def test_cancel(world: World) -> None:
    await world.add_node("w-1", SMALL)
    held, running = await world.submit(), await world.submit(hold=False)
    await world.job_becomes(running, "RUNNING")
    for job_id in (held, running):
        status, answer = await world.delete(f"job/{job_id}")
        assert (status, answer["status"], answer["errors"]) == (200, [], [])
        job = await world.job_becomes(job_id, "CANCELLED")
        assert set(job["job_state"]) <= {"CANCELLED", "COMPLETING"}

    async def again() -> bool:
        _, answer = await world.delete(f"job/{running}")
        return [item["error"]["code"] for item in answer["status"]] == [2021]

    await world.until(again)
    await world.node_becomes("w-1", "IDLE")


async def test_several_jobs_in_one_cancel(world: World) -> None:
    ids = [await world.submit() for _ in range(2)]
    answer = await world.http.request("DELETE", f"{V}/jobs/", json={"jobs": [str(i) for i in ids]})
    assert (answer.status_code, answer.json()["errors"]) == (200, [])
    for job_id in ids:
        await world.job_becomes(job_id, "CANCELLED")


async def test_unknown_nodes(world: World) -> None:
    answer = await world.http.get(f"{V}/node/nosuch")
    assert answer.status_code == 200
    assert "nodes" not in answer.json()
    status, body = await world.post("node/nosuch", {"state": ["DRAIN"], "reason": "x"})
    assert (status, body["errors"][0]["error_number"]) == (500, 2018)
    status, body = await world.delete("node/nosuch")
    assert (status, body["errors"][0]["error_number"]) == (500, 2018)


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


async def test_a_job_starts_on_exactly_as_many_nodes_as_it_needs(world: World) -> None:
    job_id = await world.submit(minimum_nodes=2, maximum_nodes=2, tasks=2)
    await world.add_node("w-1", SMALL)
    await world.update(job_id, constraints="nodes-for-1")
    await world.update(job_id, hold=False)
    await world.job_waits_for(job_id, "PartitionNodeLimit")
    await world.add_node("w-2", SMALL)
    job = await world.job_becomes(job_id, "RUNNING")
    assert job["job_resources"]["nodes"]["count"] == 2


async def test_released_with_too_few_nodes_of_its_own_a_job_is_held_by_slurm(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.add_node("other", SMALL.replace("for-1", "for-2"))
    job_id = await world.submit(minimum_nodes=2, maximum_nodes=2, tasks=2)
    await world.pin_and_release(job_id, "nodes-for-1")
    job = await world.job_waits_for(job_id, "BadConstraints")
    assert job["hold"] is True


async def test_a_job_that_asks_for_no_memory_takes_all_of_a_node(world: World) -> None:
    await world.add_node("w-1", "CPUs=4 RealMemory=4000")
    first, second = await world.submit(hold=False), await world.submit(hold=False)
    await world.job_becomes(first, "RUNNING")
    await world.job_waits_for(second, "Resources")


async def test_cpus_and_memory_are_counted(world: World) -> None:
    await world.add_node("w-1", "CPUs=4 RealMemory=4000")
    memory = {"set": True, "infinite": False, "number": 1900}
    jobs = [await world.submit(hold=False, memory_per_node=memory) for _ in range(2)]
    for job_id in jobs:
        await world.job_becomes(job_id, "RUNNING")
    third = await world.submit(hold=False, memory_per_node=memory)
    await world.job_waits_for(third, "Resources")
    await world.delete(f"job/{jobs[0]}")
    await world.job_becomes(third, "RUNNING")


async def test_gpus_are_counted(world: World) -> None:
    await world.add_node("w-1", "CPUs=4 RealMemory=4000 Gres=gpu:4")
    first = await world.submit(hold=False, tres_per_node="gres/gpu:3", minimum_nodes=1)
    await world.job_becomes(first, "RUNNING")
    second = await world.submit(hold=False, tres_per_node="gres/gpu:2", minimum_nodes=1)
    await world.job_waits_for(second, "Resources")
    await world.delete(f"job/{first}")
    await world.job_becomes(second, "RUNNING")


async def test_an_array_uses_one_slot_after_the_other(world: World) -> None:
    await world.add_node("w-1", "CPUs=1 Features=nodes-for-1")
    array = await world.submit("sleep 1", array="1-2")
    await world.pin_and_release(array, "nodes-for-1")

    async def states() -> list[str]:
        rows = (await world.get("jobs/state/"))["jobs"]
        return sorted(row["state"][0] for row in rows)

    async def one_runs() -> bool:
        return await states() == ["PENDING", "RUNNING"]

    async def all_done() -> bool:
        return await states() == ["COMPLETED", "COMPLETED"]

    await world.until(one_runs)
    await world.until(all_done)
    tasks = (await world.get(f"job/{array}"))["jobs"]
    assert {task["array_task_id"]["number"] for task in tasks} == {1, 2}
    assert {task["array_job_id"]["number"] for task in tasks} == {array}


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


async def test_a_new_conf_is_ignored_while_the_record_lives(world: World) -> None:
    await world.add_node("w-1", SMALL)
    await world.lose_node("w-1")
    await world.add_node("w-1", "CPUs=2 Features=nodes-for-2")
    assert (await world.node("w-1"))["features"] == ["nodes-for-1"]


async def test_slurmctld_away(world: World) -> None:
    job_id = await world.submit()
    await world.stop_controller()
    answer = await world.http.get(f"{V}/jobs/")
    assert (answer.status_code, answer.json()["jobs"]) == (502, [])
    assert answer.json()["errors"][0]["error_number"] == 1800
    assert await world.update(job_id, comment="x") == (500, [1000])
    ping = await world.http.get(f"{V}/ping")
    assert (ping.status_code, ping.json()["pings"][0]["pinged"]) == (200, "DOWN")


async def test_tokens(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.slurm.rest_url, timeout=20) as anonymous:
        assert (await anonymous.get(f"{V}/jobs/")).status_code == 401
        for token in ("nonsense", world.slurm.mint("root", lifetime=-60)):
            answer = await anonymous.get(f"{V}/jobs/", headers={"X-SLURM-USER-TOKEN": token})
            assert (answer.status_code, answer.json()["errors"][0]["error_number"]) == (511, 1007)
            ping = await anonymous.get(f"{V}/ping", headers={"X-SLURM-USER-TOKEN": token})
            assert ping.status_code == 200
        stranger = {"X-SLURM-USER-TOKEN": world.slurm.mint("nobody"), "X-SLURM-USER-NAME": "root"}
        assert (await anonymous.get(f"{V}/jobs/", headers=stranger)).status_code == 511


async def test_paths_and_versions_that_are_not_there(world: World) -> None:
    for path in (f"{V}/nosuch", "/slurm/v0.0.99/jobs/"):
        answer = await world.http.get(path)
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, "text/plain")
    bad = await world.http.post(
        f"{V}/job/submit", content=b'{"a":', headers={"Content-Type": "application/json"}
    )
    assert bad.status_code == 400
