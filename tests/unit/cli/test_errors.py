"""Whatever is out of reach or unknown: every command says what, where, and what to do next."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit

NOWHERE = "http://127.0.0.1:1"
UNREACHABLE = {
    "top": (["top", "-n", "hpc"], Exit.FAILED),
    "explain": (["explain", "42", "-n", "hpc"], Exit.FAILED),
    "doctor": (["doctor"], Exit.UNWELL),
    "slurm-plugin": (["slurm-plugin", "--workloadmixing", "hpc/main", "--print"], Exit.FAILED),
    "hook crd": (["hook", "crd"], Exit.FAILED),
}
"""Commands that ask the API server; the others are in OFFLINE."""
OFFLINE = {"completion", "crd", "demo", "render", "run", "webhook"}
"""`run` and `webhook` wait for the server, as their logs say; `render` asks Slurm (test_render)."""


def write_kubeconfig(path, *, server: str, token: str = "") -> None:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "hpc"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(document))


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.delenv("K8S_BRIDGE_ADDRESS", raising=False)

    def run(words: list[str], *, server: str, token: str = ""):
        write_kubeconfig(tmp_path / "kubeconfig", server=server, token=token)
        if "-n" in words:
            words = [*words, "--context", "x"]
        return CliRunner().invoke(main, words)

    return run


def test_every_command_is_in_one_of_the_tables():
    assert {name.split()[0] for name in UNREACHABLE} | OFFLINE == set(main.commands)


@pytest.mark.parametrize("name", UNREACHABLE)
def test_an_api_server_out_of_reach_is_named_with_a_next_step(call, name):
    words, code = UNREACHABLE[name]
    result = call(words, server=NOWHERE)
    assert result.exit_code == code, result.output
    assert NOWHERE in result.output
    assert "ConnectError" in result.output
    assert "kubectl version" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", UNREACHABLE)
def test_a_token_that_is_not_taken_is_told_with_a_next_step(call, guarded, name):
    words, code = UNREACHABLE[name]
    result = call(words, server=guarded, token="swordfish")
    assert result.exit_code == code, result.output
    assert guarded in result.output
    assert "401" in result.output
    assert "kubectl" in result.output
    assert "wrong" not in result.output.replace("1 wrong", "").replace("what is wrong", ""), (
        "no token is shown"
    )


@pytest.mark.parametrize("name", sorted({*UNREACHABLE} - {"hook crd"}))
def test_no_kubeconfig_is_told_with_the_options_that_name_one(monkeypatch, name):
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")
    words, _ = UNREACHABLE[name]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == Exit.USAGE, result.output
    assert "/nowhere/kubeconfig" in result.output
    assert "--kubeconfig" in result.output


def test_an_unknown_job_is_named_with_where_to_look(bridge):
    result = CliRunner().invoke(main, ["explain", "99", "--address", bridge])
    assert result.exit_code == Exit.UNKNOWN_UNIT
    assert "job 99 is not known to the bridge at " + bridge in result.output
    assert "scontrol show job 99" in result.output
