from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from k8s_bridge.cli import main as program
from k8s_bridge.cli.completion import SHELLS


def completed(*words: str) -> list[str]:
    shell = ShellComplete(program.main, {}, "k8s-bridge", "_K8S_BRIDGE_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_asks_this_program(shell):
    result = CliRunner().invoke(program.main, ["completion", shell])
    assert result.exit_code == 0, result.output
    assert f"_K8S_BRIDGE_COMPLETE={shell}_complete" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_the_script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(CliRunner().invoke(program.main, ["completion", shell]).output)
    subprocess.run([shell, "-n", script], check=True, capture_output=True)


def test_commands_and_options_are_completed():
    assert {"doctor", "explain", "top"} <= set(completed(""))
    assert "hook" not in completed(""), "it is not for people"
    assert completed("top", "--part") == ["--partition"]


def test_jobs_partitions_and_people_are_those_that_the_bridge_knows(bridge, monkeypatch):
    monkeypatch.setenv("K8S_BRIDGE_ADDRESS", bridge)
    assert completed("explain", "4") == ["42"]
    assert set(completed("top", "--partition", "")) == {"cpu", "gpu"}
    assert completed("top", "--user", "a") == ["ada"]


def test_what_cannot_be_asked_is_not_completed_and_no_error_either(monkeypatch):
    monkeypatch.setenv("K8S_BRIDGE_ADDRESS", "http://127.0.0.1:1")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert completed("explain", "4") == []
    assert completed("doctor", "--workloadmixing", "h") == []


def test_workloadmixings_are_those_of_the_cluster(kubeconfig, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert completed("doctor", "--workloadmixing", "h") == ["hpc/main"]
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert completed("slurm-plugin", "--kubeconfig", str(kubeconfig), "--workloadmixing", "") == ["hpc/main"]


def test_kubectl_is_answered_in_its_own_form(bridge, monkeypatch, capsys):
    monkeypatch.setenv("K8S_BRIDGE_ADDRESS", bridge)
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-bridge", "explain", "4"])
    program.kubectl_complete()
    assert capsys.readouterr().out == "42\tQUEUED ada\n:4\n"


def test_kubectl_bridge_is_the_same_program_by_another_name(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kubectl-bridge", "top", "--help"])
    with pytest.raises(SystemExit) as end:
        program.kubectl()
    assert end.value.code == 0
    assert "Usage: kubectl bridge top" in capsys.readouterr().out
