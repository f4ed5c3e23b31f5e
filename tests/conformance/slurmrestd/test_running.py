"""Where jobs start, and how they end."""

from __future__ import annotations

from conformance.slurmrestd.world import SMALL, V, World


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


async def test_a_job_that_ended_is_forgotten(world: World) -> None:
    job_id = await world.submit()
    await world.delete(f"job/{job_id}")
    await world.job_becomes(job_id, "CANCELLED")

    async def unknown() -> bool:
        answer = await world.http.get(f"{V}/job/{job_id}")
        return answer.status_code == 404 and answer.json()["errors"][0]["error_number"] == 2017

    await world.until(unknown, seconds=120)
    assert (await world.get("jobs/"))["jobs"] == []
    assert (await world.get("jobs/state/"))["jobs"] == []


async def test_a_script_that_fails(world: World) -> None:
    await world.add_node("w-1", SMALL)
    job_id = await world.submit("exit 3", hold=False)
    job = await world.job_becomes(job_id, "FAILED")
    assert (job["exit_code"]["return_code"]["number"], job["state_reason"]) == (3, "NonZeroExitCode")


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


async def test_a_job_starts_on_exactly_as_many_nodes_as_it_needs(world: World) -> None:
    job_id = await world.submit(minimum_nodes=2, maximum_nodes=2, tasks=2)
    await world.add_node("w-1", SMALL)
    await world.update(job_id, constraints="nodes-for-1")
    await world.update(job_id, hold=False)
    await world.job_waits_for(job_id, "PartitionNodeLimit")
    await world.add_node("w-2", SMALL)
    job = await world.job_becomes(job_id, "RUNNING")
    assert job["job_resources"]["nodes"]["count"] == 2


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
