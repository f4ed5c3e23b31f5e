"""Job arrays and heterogeneous jobs: what the bridge's slots and components rest on."""

from __future__ import annotations

from typing import Any

from k8s_bridge.sandbox.slurm_fake import FakeSlurm
from k8s_bridge.slurm.hostlist import expand

from .world import World, number

SLOT = "CPUs=1 RealMemory=1000 Features=nodes-for-1,nodes-for-1-s{}"


async def listed(world: World) -> dict[str, str]:
    return {row["job_id"]: row["state"][0] for row in (await world.get("jobs/state/"))["jobs"]}


async def rows(world: World, array: int) -> list[dict[str, Any]]:
    return (await world.get(f"job/{array}"))["jobs"]


async def count(world: World, array: int, state: str, wanted: int) -> None:
    async def reached() -> bool:
        return sum(row["job_state"][0] == state for row in await rows(world, array)) == wanted

    await world.until(reached)


async def test_a_task_that_starts_is_listed_under_an_id_of_its_own_and_the_last_under_the_arrays(
    world: World,
) -> None:
    await world.add_node("w-1", SLOT.format(0))
    array = await world.submit("sleep 1", array="0-4:2%3")
    (record,) = await rows(world, array)
    assert (record["array_task_string"], record["array_max_tasks"]["number"]) == ("0,2,4%3", 3)
    await world.pin_and_release(array, "nodes-for-1")
    await count(world, array, "RUNNING", 1)

    states = await listed(world)
    assert {name for name, state in states.items() if state == "PENDING"} == {f"{array}_2", f"{array}_4"}
    (started,) = (name for name, state in states.items() if state == "RUNNING")
    assert started.endswith("_0")
    assert not started.startswith(f"{array}_")
    await count(world, array, "COMPLETED", 3)
    assert f"{array}_4" in await listed(world)


async def test_a_change_of_the_array_reaches_the_tasks_that_never_started(world: World) -> None:
    await world.add_node("w-1", SLOT.format(0))
    array = await world.submit(array="0-1")
    await world.pin_and_release(array, "nodes-for-1")
    await count(world, array, "RUNNING", 1)

    assert await world.update(array, constraints="nodes-for-1-s0", hold=True) == (200, [])

    by_state = {row["job_state"][0]: row for row in await rows(world, array)}
    assert (by_state["PENDING"]["features"], by_state["PENDING"]["hold"]) == ("nodes-for-1-s0", True)
    assert (by_state["RUNNING"]["features"], by_state["RUNNING"]["hold"]) == ("nodes-for-1", False)


async def test_a_node_that_goes_down_requeues_its_task_alone_which_is_then_changed_by_its_own_id(
    world: World,
) -> None:
    for slot in range(2):
        await world.add_node(f"w-{slot}", SLOT.format(slot))
    array = await world.submit(array="0-2")
    await world.pin_and_release(array, "nodes-for-1")
    await count(world, array, "RUNNING", 2)

    await world.post("node/w-0", {"state": ["DOWN"], "reason": "x"})

    await count(world, array, "RUNNING", 1)
    (requeued,) = [row for row in await rows(world, array) if row["restart_cnt"]]
    assert (requeued["job_state"], requeued["hold"]) == (["PENDING"], False)
    assert requeued["job_id"] != array
    assert await world.update(requeued["job_id"], constraints="nodes-for-1-s1", begin_time=number(1)) == (
        200,
        [],
    )
    assert (await world.job(requeued["job_id"]))["features"] == "nodes-for-1-s1"


async def test_of_alternatives_in_brackets_all_nodes_of_a_task_have_the_same(world: World) -> None:
    for place in range(2):
        for slot in range(2):
            await world.add_node(f"w-{slot}-{place}", SLOT.format(slot))
    array = await world.submit("sleep 1", array="0-3", minimum_nodes=2, maximum_nodes=2, tasks=2)
    await world.pin_and_release(array, "[nodes-for-1-s0|nodes-for-1-s1]")

    await count(world, array, "COMPLETED", 4)

    slots = [{name.rpartition("-")[0] for name in expand(row["nodes"])} for row in await rows(world, array)]
    assert {len(slot) for slot in slots} == {1}
    assert set().union(*slots) == {"w-0", "w-1"}


async def test_one_task_is_cancelled_by_its_number(world: World) -> None:
    await world.add_node("w-1", SLOT.format(0))
    array = await world.submit(array="0-2")
    await world.pin_and_release(array, "nodes-for-1")
    await count(world, array, "RUNNING", 1)

    assert (await world.delete(f"job/{array}_1"))[0] == 200
    assert (await world.delete(f"job/{array}_0"))[0] == 200

    await count(world, array, "CANCELLED", 1)
    await count(world, array, "RUNNING", 1)
    assert f"{array}_1" not in await listed(world)


async def het_job(world: World) -> tuple[int, int]:
    """Two components, held: one CPU, and two nodes."""
    if isinstance(world.slurm, FakeSlurm):
        second = {"minimum_nodes": 2, "maximum_nodes": 2, "tasks": 2}
        first = world.slurm.submit_het({"tasks": 1}, second, run_time=600)
    else:
        script = "#!/bin/sh\nsleep 600\n"
        first = await world.slurm.sbatch("--hold", "-n1", ":", "-N2", "-n2", script=script)
    return first, first + 1


async def test_components_are_released_one_by_one_and_start_and_go_back_together(world: World) -> None:
    await world.add_node("a-0", "CPUs=1 Features=c0")
    for place in range(2):
        await world.add_node(f"b-{place}", "CPUs=1 Features=c1")
    first, second = await het_job(world)
    assert await listed(world) == {f"{first}+0": "PENDING", f"{second}+1": "PENDING"}
    assert [row["het_job_id"]["number"] for row in await rows(world, first)] == [first, first]

    await world.pin_and_release(first, "c0")
    assert (await world.job(second))["hold"]
    assert set((await listed(world)).values()) == {"PENDING"}
    await world.pin_and_release(second, "c1")
    await count(world, first, "RUNNING", 2)

    await world.post("node/b-0", {"state": ["DOWN"], "reason": "x"})

    await count(world, first, "PENDING", 2)
    assert [row["restart_cnt"] for row in await rows(world, first)] == [1, 1]
    await world.delete(f"job/{first}")
    await count(world, first, "CANCELLED", 2)
