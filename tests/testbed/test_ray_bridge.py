"""Inner RayJobs on the real KubeRay and a real Ray: each has workers of its own that Kueue admits."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from support.ray_refusals import FROZEN, REFUSALS

from k8s_bridge.ray import names
from testbed import lifecycle, ray_bridge
from testbed.control import kubectl
from testbed.ray_bridge import (
    HIGH,
    Bridge,
    all_given_back,
    items,
    job,
    notes,
    status,
    submit,
    submit_plain,
    wait,
)
from testbed.ray_cluster import NAMESPACE
from testbed.ray_entrypoints import census, sleeping, strangers, until_preempted
from testbed.shell import Failed, say

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(900)]

PATIENCE = 40
"""Seconds that a job may wait in Ray: its head's RAY_JOB_START_TIMEOUT_SECONDS, 900 where nobody sets it."""


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    log = tmp_path_factory.mktemp("ray") / "bridge.log"
    patience = {"RAY_JOB_START_TIMEOUT_SECONDS": str(PATIENCE)}
    with ray_bridge.running(log, environment=patience) as running:
        yield running


@pytest.fixture
def idle(bridge: Bridge) -> Iterator[None]:
    """Nothing but the shared cluster itself uses quota when the test is over."""
    yield
    kubectl("-n", NAMESPACE, "delete", "rayjobs", "--all", "--timeout=120s")
    wait("everything is given back", all_given_back)


def test_an_inner_job_waits_for_workers_of_its_own_runs_on_them_and_gives_them_back(bridge, idle):
    submit("life", notes={"workers": "2"})

    wait("the job has succeeded", lambda: status("life") == "SUCCEEDED")

    wait("its workers are given back", all_given_back)
    assert job("life")["metadata"]["annotations"][names.STATE] == "Finished"


def test_a_preempted_job_waits_runs_again_and_succeeds(bridge, idle):
    submit("victim", until_preempted(), notes={"workers": "2"})
    wait("the job runs", lambda: status("victim") == "RUNNING")
    cluster = ray_bridge.ray_cluster.get("raycluster", "shared")["metadata"]["uid"]

    submit_plain("urgent", cpu="1500m", seconds=5, priority=HIGH)

    began, took = time.monotonic(), {}
    for stage, reached in {
        "it is requeued": lambda: notes("victim").get("requeues") == "1",
        "the other runs": lambda: job_of("urgent").get("active"),
        "the other is over": lambda: job_of("urgent").get("succeeded"),
        "it runs again": lambda: status("victim") in ("RUNNING", "SUCCEEDED"),
        "it succeeds": lambda: status("victim") == "SUCCEEDED",
    }.items():
        wait(stage, reached)
        took[stage] = f"{time.monotonic() - began:.1f} s"
    say(f"since the other was submitted: {took}")
    assert ray_bridge.ray_cluster.get("raycluster", "shared")["metadata"]["uid"] == cluster
    assert "attempt 2" in bridge.cluster.logs(job("victim")["status"]["jobId"])


def test_a_bridge_that_is_killed_at_any_stage_goes_on_where_it_was(bridge, idle):
    """Asked for, released, running, over: killed each time, with a job that is preempted once on its way."""
    submit("killed", until_preempted(), notes={"workers": "2"})
    wait("it is asked for", lambda: items("jobsets"))
    revive(bridge)
    wait("it is released", lambda: "released" in notes("killed"))
    revive(bridge)
    wait("it runs", lambda: status("killed") == "RUNNING")
    submit_plain("intruder", cpu="1500m", seconds=2, priority=HIGH)
    wait("it is being requeued", lambda: "requeuing" in notes("killed"))
    revive(bridge)
    wait("it succeeds", lambda: status("killed") == "SUCCEEDED")
    revive(bridge)

    wait("its workers are given back", all_given_back)
    known = httpx.get(f"{bridge.cluster.dashboard}/api/jobs/").raise_for_status().json()
    said = sorted(one["status"] for one in known if (one["submission_id"] or "").startswith("killed-"))
    assert said.count("SUCCEEDED") == 1
    assert not {"RUNNING", "PENDING"} & set(said)


def revive(bridge: Bridge) -> None:
    bridge.kill()
    bridge.start()


def test_a_job_that_waits_in_kueue_for_longer_than_ray_is_patient_runs_all_the_same(bridge, idle):
    """Ray's patience and the wait are both scaled down: from 900 s and the 20 minutes that were asked for."""
    submit_plain("blocker", cpu="1500m", seconds=PATIENCE + 15, priority=HIGH)
    wait("the quota is taken", lambda: job_of("blocker").get("active"))
    in_ray = bridge.cluster.submit("true", entrypoint_resources={"nowhere": 1})
    began = time.monotonic()
    submit("patient", notes={"workers": "2"})

    wait("it is released", lambda: "released" in notes("patient"))

    waited = time.monotonic() - began
    say(f"waited {waited:.1f} s in Kueue; Ray is patient for {PATIENCE} s")
    assert waited > PATIENCE
    wait("it succeeds", lambda: status("patient") == "SUCCEEDED")
    given_up = bridge.cluster.job(in_ray)
    assert given_up["status"] == "FAILED"
    assert "failed to start within" in given_up["message"]


def test_a_deadline_counts_from_the_release_on(bridge, idle):
    made = submit("timed", sleeping(300), activeDeadlineSeconds=25)
    wait("it is over", lambda: job("timed")["status"].get("reason") == "DeadlineExceeded", seconds=180)

    assert "activeDeadlineSeconds" not in made["spec"]
    assert job("timed")["spec"]["activeDeadlineSeconds"] >= 25
    assert "released" in notes("timed")


def test_what_cannot_be_given_is_refused_at_admission(bridge, idle):
    for case, refusal in REFUSALS.items():
        with pytest.raises(Failed) as refused:
            submit(refusal.name, notes=refusal.notes, **refusal.spec)
        assert refusal.said in str(refused.value), case


def test_what_workers_were_asked_for_by_cannot_be_changed(bridge, idle):
    submit("frozen", sleeping(1))
    for case, change in FROZEN.items():
        patch = f"--patch={json.dumps(change)}"
        with pytest.raises(Failed) as refused:
            kubectl("-n", NAMESPACE, "patch", "rayjob", "frozen", "--type=merge", patch)
        assert "cannot be changed" in str(refused.value), case


def test_in_labels_mode_everything_runs_on_the_jobs_own_workers(bridge, idle):
    submit("confined", census(), notes={"workers": "2"})

    wait("the job has succeeded", lambda: status("confined") == "SUCCEEDED")

    assert counts(bridge, "confined") == {
        "driver": [1, 1],
        "tasks": [12, 12],
        "nested": [8, 8],
        "actors": [4, 4],
        "group": [2, 2],
    }


def counts(bridge: Bridge, name: str) -> dict[str, list[int]]:
    lines = bridge.cluster.logs(job(name)["status"]["jobId"]).splitlines()
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))


def job_of(name: str) -> dict[str, int]:
    return ray_bridge.ray_cluster.get("job", name)["status"]


@pytest.mark.parametrize("mode", ["driver", "none"])
def test_without_labels_only_the_driver_is_kept_on_its_workers_or_nothing(bridge, idle, mode):
    confine(mode)
    try:
        submit(f"mode-{mode}", census(), notes={"workers": "2"})
        wait("the job has succeeded", lambda: status(f"mode-{mode}") == "SUCCEEDED")
    finally:
        confine("labels")

    found = counts(bridge, f"mode-{mode}")
    say(f"{mode}: {found}")
    assert found["driver"] == ([1, 1] if mode == "driver" else [0, 1])
    assert found["tasks"][0] < 12


def test_strangers_on_a_jobs_workers_are_told_of(bridge, idle):
    submit("host", sleeping(120), notes={"workers": "2"})
    wait("the job runs", lambda: status("host") == "RUNNING")

    stranger = bridge.cluster.submit(strangers(seconds=90))

    wait("the leak is told", lambda: leaks("host"))
    bridge.cluster.stop(stranger)
    assert all(f" of {stranger} " in told for told in leaks("host"))


def test_a_worker_that_is_lost_is_replaced_and_the_driver_runs_on(bridge, idle):
    submit("bereft", sleeping(60), notes={"workers": "2"})
    wait("the job runs", lambda: driver_of(bridge, "bereft"))
    submission, before = job("bereft")["status"]["jobId"], workers("bereft")
    other = next(name for name, ip in before.items() if ip != driver_of(bridge, "bereft"))

    kubectl("-n", NAMESPACE, "delete", "pod", other, "--grace-period=1", "--wait=false")

    wait("it is replaced", lambda: len(workers("bereft").keys() | before.keys()) == 3, seconds=120)
    wait("the job succeeds", lambda: status("bereft") == "SUCCEEDED")
    assert job("bereft")["status"]["jobId"] == submission
    assert "requeues" not in notes("bereft")


def workers(name: str) -> dict[str, str]:
    """A job's workers: the address of each pod by its name."""
    found = [pod for pod in items("pods") if pod["metadata"].get("labels", {}).get(names.RAY_JOB) == name]
    return {pod["metadata"]["name"]: pod["status"].get("podIP", "") for pod in found}


def driver_of(bridge: Bridge, name: str) -> str:
    """The address of its driver's node; empty while it does not run."""
    if status(name) != "RUNNING":
        return ""
    told = bridge.cluster.job(job(name)["status"]["jobId"])
    return urlsplit(told.get("driver_agent_http_address") or "").hostname or ""


def confine(mode: str) -> None:
    patch = json.dumps({"spec": {"ray": {"confinement": mode}}})
    kubectl("-n", NAMESPACE, "patch", "workloadmixing", "ray", "--type=merge", f"--patch={patch}")


def leaks(name: str) -> set[str]:
    """The texts of its events of leaks."""
    found = [event for event in items("events") if event["involvedObject"]["name"] == name]
    return {event["message"] for event in found if event["reason"] == "Leak"}


def test_jobs_outlive_the_head_of_their_cluster(bridge, idle):
    """The last one: the head has another address afterwards.

    Who is first gives it to Ray again: KubeRay's submitter by itself, or the bridge in a new attempt.
    """
    submit("headless", sleeping(20))
    wait("the job runs", lambda: status("headless") == "RUNNING")
    (head,) = [
        pod["metadata"]["name"]
        for pod in items("pods")
        if pod["metadata"].get("labels", {}).get("ray.io/node-type") == "head"
    ]
    began = time.monotonic()

    kubectl("-n", NAMESPACE, "delete", "pod", head, "--grace-period=1", "--wait=false")

    wait("it succeeds", lambda: status("headless") == "SUCCEEDED")
    say(f"from the head's end to its own {time.monotonic() - began:.1f} s")
    assert not leaks("headless")
