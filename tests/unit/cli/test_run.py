from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from k8s_bridge.cli.options import settings_options, to_settings
from k8s_bridge.cli.output import Exit
from k8s_bridge.cli.run import make_run
from k8s_bridge.runtime.gates import Transport
from k8s_bridge.runtime.product import SLURM
from k8s_bridge.runtime.settings import Bind, Election

SPEC = {
    "slurmRestURL": "https://slurm:6820",
    "localQueue": "hpc",
    "partitionMappings": [{"partitionName": "cpu", "workloadPriorityClass": "normal"}],
    "slurmd": {"image": "registry.example.com/slurmd:1", "confServer": "ctl:6817", "authSecretName": "slurm"},
}
PROGRAM = """
import asyncio
from k8s_bridge.cli.run import make_run
from k8s_bridge.runtime.product import SLURM

class Idle:
    def __init__(self, services, mixing, status):
        self.ending = asyncio.Event()
    async def run(self):
        await self.ending.wait()
    def stop(self):
        self.ending.set()
    def reload(self, mixing):
        pass

make_run({SLURM: lambda: Idle})()
"""


def never():
    raise AssertionError("nothing may be built")


def run(*args, env=None):
    return CliRunner().invoke(make_run({SLURM: never}), [str(arg) for arg in args], env=env)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "main.yaml"
    path.write_text(yaml.safe_dump(SPEC))
    return path


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "hpc"}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--http", "8080"], "--http: '8080' is not host:port"),
        (["--workloadmixing", "main"], "--workloadmixing: 'main' is not namespace/name"),
        (["--config", "x", "--workloadmixing", "a/b"], "either --config or --workloadmixing"),
        (["--config", "/nowhere/x.yaml"], "--config: /nowhere/x.yaml cannot be read"),
        (["--allow-image", "registry.example.com"], "write registry.example.com/ to allow all of it"),
        (["--kubeconfig", "/nowhere/config"], "/nowhere/config"),
    ],
)
def test_wrong_settings_end_with_2_and_name_the_option(args, text):
    result = run(*args)
    assert result.exit_code == Exit.USAGE
    assert text in result.output
    assert "Traceback" not in result.output


def test_a_bad_file_is_refused_at_the_start_with_every_field_and_line(file, kubeconfig):
    file.write_text(yaml.safe_dump(SPEC | {"localQueue": 7, "pollInterval": "soon"}))
    result = run("--config", file, "--kubeconfig", kubeconfig)
    assert result.exit_code == Exit.USAGE
    assert f"{file}: localQueue (line 1)" in result.output
    assert f"{file}: pollInterval" in result.output


def test_the_gates_hold_for_the_file_as_well(file, kubeconfig):
    result = run("--config", file, "--kubeconfig", kubeconfig, "--allow-image", "other.example.com/")
    assert result.exit_code == Exit.USAGE
    assert "spec.slurmd.image" in result.output


def test_every_option_can_come_from_the_environment():
    got = []

    @click.command()
    @settings_options
    def probe(**options):
        got.append(to_settings(options))

    env = {
        "K8S_BRIDGE_NAMESPACE": "hpc lab",
        "K8S_BRIDGE_ELECTION": "none",
        "K8S_BRIDGE_LEASE_NAME": "mine",
        "K8S_BRIDGE_HTTP": ":9",
        "K8S_BRIDGE_ALLOW_IMAGE": "r.io/a/ r.io/b",
        "K8S_BRIDGE_ALLOW_TOKEN_PATH": "/run/slurm",
        "K8S_BRIDGE_ALLOW_SLURM_HOST": "slurm:6820",
        "K8S_BRIDGE_ALLOW_INSECURE_TLS": "true",
        "K8S_BRIDGE_WORKERS": "3",
        "K8S_BRIDGE_KUBECONFIG": "/x",
    }
    assert CliRunner().invoke(probe, [], env=env).exit_code == 0
    (settings,) = got
    assert settings.namespaces == ("hpc", "lab")
    assert settings.election is Election.NONE
    assert settings.lease_name == "mine"
    assert settings.http == Bind(host="0.0.0.0", port=9)
    assert settings.workers == 3
    assert settings.kubeconfig == Path("/x")
    assert settings.gates.images == ("r.io/a/", "r.io/b")
    assert settings.gates.token_paths == ("/run/slurm",)
    assert settings.gates.slurm_hosts == ("slurm:6820",)
    assert settings.gates.transport is Transport.INSECURE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_process_with_0_within_3_seconds(file, kubeconfig, number):
    args = ["--config", str(file), "--kubeconfig", str(kubeconfig), "--http", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *args, "--election", "none", "--log-format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    try:
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["event"] == "bridge_started":
                break
        began = time.monotonic()
        process.send_signal(number)
        rest, errors = process.communicate(timeout=10)
        seconds = time.monotonic() - began
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors
    assert seconds < 3
    assert [line["event"] for line in lines] == ["started", "bridge_started"]
    assert json.loads(rest.splitlines()[-1])["event"] == "stopped"
    assert errors == ""
