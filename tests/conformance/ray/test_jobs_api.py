"""The jobs API of a head."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.timeout(600)

NOWHERE = {"nowhere": 1}


async def test_a_job_runs_and_tells_how_it_ended(ray):
    name = await ray.submit("echo hello; sleep 2")

    job = await ray.until_job(name, "SUCCEEDED", "FAILED")
    logs = (await ray.head.get(f"/api/jobs/{name}/logs")).json()

    assert (job["status"], job["message"], job["driver_exit_code"]) == (
        "SUCCEEDED",
        "Job finished successfully.",
        0,
    )
    assert (job["type"], job["submission_id"], job["entrypoint"]) == (
        "SUBMISSION",
        name,
        "echo hello; sleep 2",
    )
    assert job["start_time"] < job["end_time"]
    assert job["error_type"] is None
    assert (job["runtime_env"], job["metadata"]) == (None, None)
    assert (job["job_id"], job["driver_info"]) == (None, None), "it has never connected to the cluster"
    assert job["driver_node_id"] in [
        n["node_id"] for n in await ray.state("nodes", ("is_head_node", "=", "True"))
    ]
    assert f"Running entrypoint for job {name}" in logs["logs"]


async def test_a_driver_that_connects_has_an_id_of_its_own(ray):
    name = await ray.submit('python3 -c "import ray; ray.init(); print(1)"')

    job = await ray.until_job(name, "SUCCEEDED", "FAILED")

    assert job["status"] == "SUCCEEDED"
    assert len(job["job_id"]) == 8
    assert job["driver_info"]["id"] == job["job_id"]
    assert (await ray.head.get(f"/api/jobs/{job['job_id']}")).json()["submission_id"] == name


async def test_a_failed_entrypoint_is_told_with_its_code(ray):
    name = await ray.submit("exit 3")

    job = await ray.until_job(name, "FAILED")

    assert job["message"].startswith("Job entrypoint command failed with exit code 3, last available logs")
    assert (job["error_type"], job["driver_exit_code"]) == ("JOB_ENTRYPOINT_COMMAND_ERROR", 3)


async def test_a_job_that_fits_nowhere_waits_and_hears_no_stop(ray):
    name = await ray.submit("true", entrypoint_resources=NOWHERE)

    stopped = await ray.head.post(f"/api/jobs/{name}/stop")
    deleted = await ray.head.delete(f"/api/jobs/{name}")
    job = await ray.job(name)

    assert (stopped.status_code, stopped.json()) == (200, {"stopped": True})
    assert deleted.status_code == 500
    assert f"Attempted to delete job '{name}', but it is in a non-terminal state PENDING." in deleted.text
    assert job["status"] == "PENDING"
    assert job["message"] == (
        "Job has not started yet. It may be waiting for resources "
        "(CPUs, GPUs, memory, custom resources) to become available."
    )
    assert (job["driver_node_id"], job["job_id"], job["end_time"]) == (None, None, None)
    assert (await ray.head.get(f"/api/jobs/{name}/logs")).status_code == 200


async def test_the_same_id_twice_is_an_error_of_the_head(ray):
    name = await ray.submit("true", submission_id=f"{ray.mark}-twice")

    again = await ray.head.post("/api/jobs/", json={"entrypoint": "true", "submission_id": name})

    assert again.status_code == 500
    assert f"Job with submission_id {name} already exists." in again.text


async def test_a_job_that_runs_is_stopped_and_can_be_forgotten_then(ray):
    name = await ray.submit("sleep 300")
    await ray.until_job(name, "RUNNING")
    early = await ray.head.delete(f"/api/jobs/{name}")

    first = (await ray.head.post(f"/api/jobs/{name}/stop")).json()
    job = await ray.until_job(name, "STOPPED")
    await ray.until(lambda: _unheard(ray, name), what="nobody hears a stop any more")
    deleted = await ray.head.delete(f"/api/jobs/{name}")
    after = await ray.head.get(f"/api/jobs/{name}")

    assert early.status_code == 500
    assert first == {"stopped": True}
    assert (job["message"], job["driver_exit_code"]) == ("Job was intentionally stopped.", None)
    assert (deleted.status_code, deleted.json()) == (200, {"deleted": True})
    assert (after.status_code, after.text) == (404, f"Job {name} does not exist")


async def _unheard(ray, name):
    return (await ray.head.post(f"/api/jobs/{name}/stop")).json() == {"stopped": False}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 400),
        ({"entrypoint": 3}, 400),
        ({"entrypoint": "true", "runtime_env": "none"}, 400),
        ({"entrypoint": "true", "submission_id": 7}, 400),
    ],
)
async def test_what_is_no_submission_is_refused(ray, body, code):
    assert (await ray.head.post("/api/jobs/", json=body)).status_code == code


async def test_jobs_that_nobody_knows(ray):
    answers = [
        await ray.head.get("/api/jobs/nobody"),
        await ray.head.post("/api/jobs/nobody/stop"),
        await ray.head.delete("/api/jobs/nobody"),
        await ray.head.get("/api/jobs/nobody/logs"),
    ]

    assert {(a.status_code, a.text) for a in answers} == {(404, "Job nobody does not exist")}


async def test_all_jobs_are_listed(ray):
    name = await ray.submit("true", metadata={"who": "me"}, runtime_env={"env_vars": {"A": "1"}})
    await ray.until_job(name, "SUCCEEDED")

    listed = {job["submission_id"]: job for job in (await ray.head.get("/api/jobs/")).json()}

    assert listed[name]["metadata"] == {"who": "me"}
    assert listed[name]["runtime_env"]["env_vars"] == {"A": "1"}
    assert listed[name].keys() == (await ray.job(name)).keys()


async def test_the_head_tells_its_version(ray):
    assert (await ray.head.get("/api/version")).json()["ray_version"] == "2.60.0"
