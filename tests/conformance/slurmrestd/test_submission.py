"""What a submitted job shows, and what is refused at submit."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.slurmrestd.world import SMALL, World

from k8s_bridge.sandbox.slurm_fake.versions import records


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
