"""Where `top` and `explain` find the bridge: behind a lease and kubectl's port-forward, never a standby."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from click.testing import CliRunner

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit
from k8s_bridge.runtime.health import Health
from k8s_bridge.runtime.http import Endpoints, HttpServer, application
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.runtime.product import RAY, SLURM
from k8s_bridge.runtime.settings import LEASE_NAME, Bind
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import UnitDetail, UnitRow, Units
from k8s_bridge.sandbox.apiserver.kinds import LEASES

POD = "bridge-5d9-x2k"
RAY_POD = "ray-7f4-q1z"
PROD = "prod"
"""A release that is not called like the chart."""
PI = UnitDetail(row=UnitRow(kind="RayJob", name="science/pi", state="QUEUED"))
KUBECTL = """#!/bin/sh
echo "$@" > {said}
echo "Forwarding from 127.0.0.1:{port} -> 8080"
exec sleep 60
"""


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture
def standby():
    """Its address, and the Turn that it answers with; it knows no units."""
    turns = [Turn(leads=False, leader=f"{POD}_1_ab")]
    at = Endpoints(
        health=Health(),
        metrics=Metrics(lambda: False),
        units=Units(),
        nudge=lambda _: None,
        turn=lambda: turns[-1],
    )
    server = HttpServer(application(at), Bind(port=0))
    thread = threading.Thread(target=lambda: asyncio.run(server.run()))
    thread.start()
    yield f"http://127.0.0.1:{server.address.port}", turns
    server.stop()
    thread.join()


@pytest.fixture
def kubectl(tmp_path, monkeypatch, bridge):
    """A kubectl whose port-forward leads to the running bridge; the file with what it was told."""
    folder, said = tmp_path / "bin", tmp_path / "said"
    folder.mkdir()
    program = folder / "kubectl"
    program.write_text(KUBECTL.format(said=said, port=bridge.rpartition(":")[2]))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return said


@pytest.mark.parametrize("command", [("top",), ("top", "-o", "json"), ("explain", "42")])
def test_a_standby_says_which_pod_to_ask(standby, command):
    address, _ = standby
    result = call(*command, "--address", address)
    assert result.exit_code == Exit.NO_BRIDGE
    assert f"{POD} leads" in result.output
    assert f"kubectl exec {POD} -- k8s-bridge top" in result.output


def test_a_standby_while_nobody_leads_says_so(standby):
    address, turns = standby
    turns.append(Turn(leads=False))
    result = call("top", "--address", address)
    assert result.exit_code == Exit.NO_BRIDGE
    assert "nobody leads now" in result.output


def test_a_leader_without_units_shows_an_empty_list(standby):
    address, turns = standby
    turns.append(Turn(leads=True, leader=f"{POD}_1_ab"))
    assert json.loads(call("top", "--address", address, "-o", "json").output) == []


def test_in_a_cluster_the_pod_that_leads_is_asked(cluster, kubectl):
    kubeconfig, _ = cluster
    result = call("top", "-n", "bridge", "--kubeconfig", kubeconfig, "-o", "json")
    assert result.exit_code == 0, result.output
    assert {row["name"] for row in json.loads(result.output)} >= {"42", "7_3"}
    said = kubectl.read_text()
    assert f"port-forward --kubeconfig={kubeconfig} --namespace=bridge" in said
    assert f"pod/{POD} :8080" in said


def test_explain_reaches_it_the_same_way(cluster, kubectl):
    kubeconfig, _ = cluster
    result = call("explain", "42", "-n", "bridge", "--kubeconfig", kubeconfig)
    assert result.exit_code == 0, result.output
    assert "64 CPUs short" in result.output


def test_a_forwarding_that_fails_is_told_in_kubectls_words(cluster, kubectl):
    kubeconfig, _ = cluster
    program = kubectl.parent / "bin" / "kubectl"
    program.write_text("#!/bin/sh\necho 'error: pods not found' >&2\nexit 1\n")
    result = call("top", "-n", "bridge", "--kubeconfig", kubeconfig)
    assert result.exit_code == Exit.NO_BRIDGE
    assert "error: pods not found" in result.output


def test_without_kubectl_it_says_how_else(cluster, monkeypatch):
    kubeconfig, _ = cluster
    monkeypatch.setenv("PATH", "/nowhere")
    result = call("top", "-n", "bridge", "--kubeconfig", kubeconfig)
    assert result.exit_code == Exit.USAGE
    assert "--address" in result.output


def test_leases_that_nobody_holds_are_told(cluster, kubectl):
    kubeconfig, storage = cluster
    storage.patch(LEASES, "bridge", LEASE_NAME, {"spec": {"holderIdentity": ""}})
    result = call("top", "-n", "bridge", "--kubeconfig", kubeconfig)
    assert result.exit_code == Exit.NO_BRIDGE
    assert "nobody holds the lease of a bridge in bridge" in result.output
    result = call("top", "-n", "bridge", "--kubeconfig", kubeconfig, "--lease-name", LEASE_NAME)
    assert f"nobody holds lease bridge/{LEASE_NAME}" in result.output


def lease(storage, name, *, pod):
    meta = {"name": name, "namespace": "bridge"}
    storage.create(LEASES, {"metadata": meta, "spec": {"holderIdentity": f"{pod}_1_ab"}})


@pytest.fixture
def ray(cluster, kubectl):
    """The kubeconfig of a cluster with a bridge for Slurm jobs and one for RayJobs."""
    kubeconfig, storage = cluster
    lease(storage, f"{PROD}-k8s-bridge-ray-leader", pod=RAY_POD)
    lease(storage, "cert-manager-controller", pod="another")
    at = Endpoints(health=Health(), metrics=Metrics(lambda: True), units=Units(), nudge=lambda _: None)
    at.units.add("science/ray", lambda name: [PI] * (name in ("", "pi")))
    server = HttpServer(application(at), Bind(port=0))
    thread = threading.Thread(target=lambda: asyncio.run(server.run()))
    thread.start()
    program = kubectl.parent / "bin" / "kubectl"
    to_ray = f'case "$@" in *{RAY_POD}*) echo "Forwarding from 127.0.0.1:{server.address.port} -> 8080";'
    program.write_text(program.read_text().replace("\necho", f"\n{to_ray} exec sleep 60;; esac\necho", 1))
    yield kubeconfig
    server.stop()
    thread.join()


def test_of_two_bridges_in_a_namespace_both_are_asked_without_a_word_about_leases(ray):
    result = call("top", "-n", "bridge", "--kubeconfig", ray, "-o", "json")
    assert result.exit_code == 0, result.output
    assert {row["name"] for row in json.loads(result.output)} >= {"42", "7_3", "science/pi"}
    for job in ("pi", "42"):
        told = call("explain", job, "-n", "bridge", "--kubeconfig", ray, "-o", "json")
        assert [detail["row"]["name"].rpartition("/")[2] for detail in json.loads(told.output)] == [job]


def test_the_lease_of_one_may_be_named(ray):
    named = ("--lease-name", f"{PROD}-k8s-bridge-ray-leader")
    result = call("top", "-n", "bridge", "--kubeconfig", ray, "-o", "json", *named)
    assert [row["name"] for row in json.loads(result.output)] == ["science/pi"]


def test_a_bridge_that_is_not_reached_does_not_hide_the_other(ray, kubectl):
    program = kubectl.parent / "bin" / "kubectl"
    gone = f'case "$@" in *{POD}*) echo "error: pods {POD} not found" >&2; exit 1;; esac'
    program.write_text(program.read_text().replace("\n", f"\n{gone}\n", 1))
    result = call("top", "-n", "bridge", "--kubeconfig", ray, "-o", "json")
    assert result.exit_code == 0
    assert [row["name"] for row in json.loads(result.stdout)] == ["science/pi"]
    assert f"pods {POD} not found" in result.stderr


@pytest.mark.parametrize("name", [SLURM.lease, RAY.lease])
def test_the_lease_of_a_bridge_that_is_run_by_hand_is_found(cluster, kubectl, name):
    kubeconfig, storage = cluster
    storage.delete(LEASES, "bridge", LEASE_NAME)
    lease(storage, name, pod=POD)
    assert call("top", "-n", "bridge", "--kubeconfig", kubeconfig, "-o", "json").exit_code == 0
