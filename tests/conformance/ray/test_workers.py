"""Pods that join a shared cluster with resources and labels of their own, and leave it again."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBSETS, PODS

pytestmark = pytest.mark.timeout(900)

JOB = "ray-bridge.x-k8s.io/job"


DRAINED = "Terminated due to preemption: Node received SIGTERM; draining before shutdown."
LOST = "Unexpected termination: health check failed due to missing too many heartbeats"


def options(token: str) -> str:
    return f"""--resources '{{"rb-{token}": 1}}' --labels {JOB}={token}"""


async def join(ray, token: str, **how):
    jobset = await ray.create(ray.workers("w", options=options(token), **how))
    node = await ray.node_with(JOB, token)
    return jobset["metadata"]["name"], node


async def test_a_waiting_job_starts_on_the_worker_that_brings_what_it_needs(ray):
    token = ray.mark
    job = await ray.submit("sleep 2", entrypoint_resources={f"rb-{token}": 0.001})

    _, node = await join(ray, token)
    done = await ray.until_job(job, "SUCCEEDED", "FAILED")

    assert done["status"] == "SUCCEEDED"
    assert done["driver_node_id"] == node["node_id"]
    assert node["resources_total"][f"rb-{token}"] == 1.0
    assert not node["is_head_node"]


async def test_a_driver_is_placed_by_the_labels_it_asks_for(ray):
    token = ray.mark
    _, node = await join(ray, token)

    job = await ray.submit("true", entrypoint_label_selector={JOB: token})

    assert (await ray.until_job(job, "SUCCEEDED", "FAILED"))["driver_node_id"] == node["node_id"]


async def test_a_stop_is_heard_when_the_job_finds_its_place(ray):
    token = ray.mark
    job = await ray.submit("sleep 300", entrypoint_resources={f"rb-{token}": 0.001})
    await ray.head.post(f"/api/jobs/{job}/stop")

    await join(ray, token)

    assert (await ray.until_job(job, "STOPPED", "FAILED", "SUCCEEDED"))["status"] == "STOPPED"


async def test_an_idle_worker_that_is_told_to_go_says_goodbye(ray):
    token = ray.mark
    jobset, _ = await join(ray, token, grace=30)

    await ray.delete(JOBSETS, jobset, propagationPolicy="Background")
    node = await ray.node_with(JOB, token, "DEAD")

    assert node["state_message"] == DRAINED
    assert node["end_time_ms"] >= node["start_time_ms"]


async def test_a_job_whose_worker_is_killed_fails_when_the_head_notices(ray):
    token = ray.mark
    jobset, node = await join(ray, token)
    job = await ray.submit("sleep 300", entrypoint_resources={f"rb-{token}": 0.001})
    await ray.until_job(job, "RUNNING")
    pod = await ray.pod_of(f"{jobset}-w-0")

    await ray.delete(PODS, pod["metadata"]["name"], gracePeriodSeconds=0)
    done = await ray.until_job(job, "FAILED")
    dead = next(n for n in await ray.state("nodes") if n["node_id"] == node["node_id"])

    assert done["error_type"] == "JOB_SUPERVISOR_ACTOR_DIED"
    assert done["message"].startswith("Job supervisor actor died: ")
    assert node["node_id"] in done["message"]
    assert dead["state"] == "DEAD"


async def test_a_busy_worker_without_the_time_to_drain_is_missed(ray):
    token = ray.mark
    jobset, node = await join(ray, token, grace=5)
    job = await ray.submit("sleep 300", entrypoint_resources={f"rb-{token}": 0.001})
    await ray.until_job(job, "RUNNING")

    await ray.delete(JOBSETS, jobset, propagationPolicy="Background")
    done = await ray.until_job(job, "FAILED")
    dead = await ray.node_with(JOB, token, "DEAD")

    # Killed while it drains: which of both the head calls it is chance.
    assert dead["state_message"] in (DRAINED, LOST)
    why = dead["state_message"].replace("Unexpected termination", "terminated unexpectedly")
    why = why.replace("Terminated due to preemption", "preempted")
    assert done["message"].endswith(
        f"The actor died because its node has died. Node Id: {node['node_id']}\n\tthe actor's node was {why}"
    )


async def test_a_busy_worker_drains_and_takes_its_job_down(ray):
    token = ray.mark
    jobset, _ = await join(ray, token, grace=90)
    job = await ray.submit("sleep 300", entrypoint_resources={f"rb-{token}": 0.001})
    await ray.until_job(job, "RUNNING")

    await ray.delete(JOBSETS, jobset, propagationPolicy="Background")
    done = await ray.until_job(job, "FAILED")

    assert done["error_type"] == "JOB_SUPERVISOR_ACTOR_DIED"
    # The actor's end and its node's race to the head: which is told is chance.
    assert done["message"].endswith(
        (
            "the actor's node was preempted: Node received SIGTERM; draining before shutdown.",
            "the actor's node was terminated expectedly: received SIGTERM",
        )
    )
