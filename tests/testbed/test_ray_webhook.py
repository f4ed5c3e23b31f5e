"""The webhook as the chart installs it, on the real API server: it does all that the policies do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.ray_refusals import FROZEN, REFUSALS

from testbed import bridge_image, chart, lifecycle, ray_bridge
from testbed.control import kubectl
from testbed.ray_bridge import Bridge, all_given_back, notes, status, submit, wait
from testbed.ray_cluster import NAME, NAMESPACE
from testbed.ray_entrypoints import sleeping
from testbed.shell import Failed

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(900)]

RELEASE = chart.Release("held", namespace=NAMESPACE)
DEPLOYMENT = "deployment/held-k8s-bridge-ray-webhook"


def values() -> dict[str, Any]:
    """The webhook alone: the bridge is a process of the test's."""
    return {
        "image": {"repository": bridge_image.REPOSITORY, "tag": bridge_image.load()},
        "slurmBridge": {"enabled": False},
        "rayBridge": {
            "enabled": True,
            "namespaces": [NAMESPACE],
            "admission": "webhook",
            "replicas": 0,
        },
    }


@contextmanager
def webhook_in_force() -> Iterator[None]:
    RELEASE.uninstall()
    try:
        RELEASE.install(values())
        yield
    finally:
        RELEASE.uninstall()


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    log = tmp_path_factory.mktemp("ray") / "bridge.log"
    with ray_bridge.running(log, held=webhook_in_force) as running:
        yield running


def test_what_cannot_be_given_is_refused(bridge):
    for case, refusal in REFUSALS.items():
        with pytest.raises(Failed) as refused:
            submit(refusal.name, notes=refusal.notes, **refusal.spec)
        assert "check.ray-bridge.x-k8s.io" in str(refused.value), case
        assert refusal.said in str(refused.value), case


def test_a_job_of_httpmode_that_kueue_suspends_is_held_runs_and_gives_its_workers_back(bridge):
    suspended = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": "queued",
            "namespace": NAMESPACE,
            "labels": {"kueue.x-k8s.io/queue-name": "ray"},
        },
        "spec": {
            "clusterSelector": {"ray.io/cluster": NAME},
            "entrypoint": sleeping(2),
            "submissionMode": "HTTPMode",
        },
    }

    made = json.loads(kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(suspended)))

    assert made["spec"]["submissionMode"] == "K8sJobMode"
    assert not made["spec"].get("suspend")
    assert notes("queued")["local-queue"] == "ray"
    wait("it has succeeded", lambda: status("queued") == "SUCCEEDED", seconds=180)
    assert "released" in notes("queued")
    wait("its workers are given back", all_given_back)


def test_what_workers_were_asked_for_by_cannot_be_changed(bridge):
    submit("frozen", sleeping(1))
    for case, change in FROZEN.items():
        patch = f"--patch={json.dumps(change)}"
        with pytest.raises(Failed) as refused:
            kubectl("-n", NAMESPACE, "patch", "rayjob", "frozen", "--type=merge", patch)
        assert "cannot be changed" in str(refused.value), case


def test_a_webhook_that_is_down_stops_new_inner_jobs_and_nothing_else(bridge):
    submit("earlier", sleeping(600))
    kubectl("-n", NAMESPACE, "scale", DEPLOYMENT, "--replicas=0")
    try:
        wait("new inner jobs are refused", lambda: "failed calling webhook" in said("later"), seconds=60)
        kubectl("-n", NAMESPACE, "delete", "rayjob", "earlier", "--timeout=60s")
        kubectl("-n", NAMESPACE, "create", "job", "plain", "--image=none", "--dry-run=server")
    finally:
        kubectl("-n", NAMESPACE, "scale", DEPLOYMENT, "--replicas=2")
        kubectl("-n", NAMESPACE, "rollout", "status", DEPLOYMENT, "--timeout=120s")
    wait("they are let in again", lambda: not said("later"), seconds=60)


def said(name: str) -> str:
    """Why a good job is not let in; one that is let in goes again."""
    try:
        submit(name, sleeping(1))
    except Failed as error:
        return str(error)
    kubectl("-n", NAMESPACE, "delete", "rayjob", name, "--timeout=60s")
    return ""
