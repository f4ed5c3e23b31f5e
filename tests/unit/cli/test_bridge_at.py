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
from k8s_bridge.runtime.settings import LEASE_NAME, Bind
from k8s_bridge.runtime.turn import Turn
from k8s_bridge.runtime.units import Units
from k8s_bridge.sandbox.apiserver.kinds import LEASES

POD = "bridge-5d9-x2k"
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


def test_a_lease_that_nobody_holds_is_told(cluster, kubectl):
    kubeconfig, storage = cluster
    storage.patch(LEASES, "bridge", LEASE_NAME, {"spec": {"holderIdentity": ""}})
    result = call("top", "-n", "bridge", "--kubeconfig", kubeconfig)
    assert result.exit_code == Exit.NO_BRIDGE
    assert f"nobody holds lease bridge/{LEASE_NAME}" in result.output
