"""What a submitted job shows, and what is refused at submit."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.slurmrestd.world import SMALL, World, number

from k8s_bridge.sandbox.slurm_fake.versions import records

_WRAPPED = {"memory_per_cpu", "memory_per_node", "time_limit", "time_minimum"}


def plain(value: Any) -> Any:
    return value["number"] if isinstance(value, dict) else value


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
        ({"tres_per_node": "gres/abacus:1"}, 2072),
        ({"licenses": "nosuch"}, 2048),
        ({"reservation": "nosuch"}, 2053),
        ({"dependency": "afterok:99999"}, 2038),
        ({"dependency": "nonsense"}, 2038),
        ({"array": "nonsense"}, 2081),
        ({"required_nodes": ["nosuch"]}, 2018),
    ],
)
async def test_submits_that_are_refused(world: World, options: dict[str, Any], error: int) -> None:
    await world.add_node("w-1", SMALL)
    status, answer = await world.try_submit(**options)
    assert (status, [item["error_number"] for item in answer["errors"]]) == (500, [error])


async def test_held_jobs_larger_than_anything_are_taken_without_a_node(world: World) -> None:
    await world.submit(minimum_nodes=50)
    await world.submit(tres_per_node="gres/gpu:8")


async def test_a_script_is_required(world: World) -> None:
    status, answer = await world.post("job/submit", {"job": {"environment": ["A=1"]}})
    assert (status, answer["errors"][0]["error_number"]) == (422, 9000)


async def test_what_was_not_asked_for_is_not_shown(world: World) -> None:
    job = await world.job(await world.submit())
    assert job["time_limit"] == {"set": False, "infinite": True, "number": 0}
    assert (job["memory_per_node"]["number"], job["memory_per_cpu"]["set"]) == (0, False)
    assert (job["tres_req_str"], job["dependency"]) == ("cpu=1,node=1,billing=1", "")
    defaults = [f"USING_DEFAULT_{key}" for key in ("ACCOUNT", "PARTITION", "QOS", "WCKEY")]
    assert job["flags"] == [*defaults, "DEPENDENT", "PARTITION_ASSIGNED"]


async def test_flags_tell_what_was_asked_for(world: World) -> None:
    memory = number(100)
    job = await world.job(
        await world.submit(tasks=2, memory_per_node=memory, account="a", qos="q", wckey="w", partition="all")
    )
    assert job["flags"] == ["EXACT_TASK_COUNT_REQUESTED", "EXACT_MEMORY_REQUESTED", "DEPENDENT"]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {"max_nodes": 1, "tres_req_str": "cpu=1,node=1,billing=1"}),
        ({"minimum_nodes": 3}, {"node_count": 3, "tasks": 3, "max_nodes": 3}),
        ({"minimum_nodes": 2, "maximum_nodes": 4}, {"node_count": 2, "tasks": 2, "max_nodes": 4}),
        ({"tasks": 4}, {"tasks": 4, "cpus": 4, "max_nodes": 1}),
        ({"cpus_per_task": 3}, {"cpus": 3, "max_nodes": 0, "minimum_cpus_per_node": 3}),
        (
            {"minimum_nodes": 2, "maximum_nodes": 2, "tasks_per_node": 3},
            {"tasks": 6, "cpus": 6, "minimum_cpus_per_node": 3, "tres_req_str": "cpu=6,node=2,billing=6"},
        ),
        ({"memory_per_cpu": 50, "tasks": 3}, {"tres_req_str": "cpu=3,mem=150M,node=1,billing=3"}),
        ({"memory_per_node": 70}, {"tres_req_str": "cpu=1,mem=70M,node=1,billing=1"}),
        ({"tres_per_node": "gres:gpu:2"}, {"tres_per_node": "gres/gpu:2"}),
        ({"tres_per_task": "gres/gpu:1", "tasks": 2}, {"tres_per_task": "gres/gpu:1", "cpus": 2}),
        ({"shared": ["none"]}, {"shared": ["none"]}),
        ({"time_limit": 10, "time_minimum": 5}, {"time_limit": 10, "time_minimum": 5}),
        ({"requeue": False, "required_switches": 1}, {"requeue": False, "required_switches": 1}),
    ],
)
async def test_what_is_asked_for_comes_back(
    world: World, options: dict[str, Any], shown: dict[str, Any]
) -> None:
    """Numbers are compared without their wrapping."""
    wrapped = {key: number(options[key]) for key in _WRAPPED & options.keys()}
    job = await world.job(await world.submit(**options | wrapped))
    assert {key: plain(job[key]) for key in shown} == shown


async def test_memory_per_cpu_leaves_memory_per_node_unset(world: World) -> None:
    job = await world.job(await world.submit(memory_per_cpu=number(50)))
    assert (job["memory_per_cpu"]["number"], job["memory_per_node"]["set"]) == (50, False)


@pytest.mark.parametrize(
    "options",
    [
        {"minimum_nodes": 2},
        {"cpus_per_task": 5},
        {"memory_per_node": {"set": True, "infinite": False, "number": 4001}},
        {"tres_per_node": "gres/gpu:1"},
        {"constraints": "nodes-for-1", "tasks": 5},
    ],
)
async def test_a_job_that_is_not_held_and_fits_nowhere_fails_at_submit(
    world: World, options: dict[str, Any]
) -> None:
    await world.add_node("w-1", SMALL)
    status, answer = await world.try_submit(hold=False, **options)
    assert (status, [error["error_number"] for error in answer["errors"]]) == (500, [2014])
    (job,) = (await world.get("jobs/"))["jobs"]
    assert (job["job_state"], job["state_reason"], job["hold"]) == (["FAILED"], "BadConstraints", False)


async def test_without_any_node_every_job_must_be_held(world: World) -> None:
    status, answer = await world.try_submit(hold=False)
    assert (status, answer["errors"][0]["error_number"]) == (500, 2014)
