from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit


def call(*args, env=None):
    return CliRunner().invoke(main, [str(arg) for arg in args], env=env)


def test_top_prints_a_table_where_there_is_no_terminal(bridge):
    result = call("top", "--address", bridge)
    assert result.exit_code == 0
    assert "64 CPUs short" in result.output
    assert result.output.index("7_3") < result.output.index("  42  "), "what runs comes first"


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_top_for_machines(bridge, form, read):
    result = call("top", "-o", form, env={"K8S_BRIDGE_ADDRESS": bridge})
    rows = read(result.output)
    assert {row["name"]: row["state"] for row in rows} == {
        "42": "QUEUED",
        "7_3": "RUNNING",
        "hpc/[bold]train[/]": "RUNNING",
    }


def test_top_narrows_to_a_partition_or_user(bridge):
    rows = json.loads(call("top", "--address", bridge, "-o", "json", "--user", "ada").output)
    assert [row["name"] for row in rows] == ["42"]
    rows = json.loads(call("top", "--address", bridge, "-o", "json", "--partition", "gpu").output)
    assert [row["name"] for row in rows] == ["7_3"]


def test_explain_says_why_and_what_is_next(bridge):
    result = call("explain", "42", "--address", bridge)
    assert result.exit_code == 0
    assert "64 CPUs short" in result.output
    assert "waits for Kueue" in result.output
    machine = json.loads(call("explain", "42", "--address", bridge, "-o", "json").output)
    assert machine[0]["facts"] == {"Workload": "QuotaReserved=False"}


def test_explain_says_what_each_option_became(bridge):
    result = call("explain", "42", "--address", bridge)
    assert "--mem=4G" in result.output
    assert "4096 MiB on each node" in result.output
    machine = json.loads(call("explain", "42", "--address", bridge, "-o", "json").output)
    assert machine[0]["options"] == {"--mem=4G": "4096 MiB on each node"}


def test_a_name_with_a_slash_can_be_explained(bridge):
    assert call("explain", "hpc/[bold]train[/]", "--address", bridge).exit_code == 0


def test_an_unknown_job_has_an_exit_code_of_its_own_and_a_next_step(bridge):
    result = call("explain", "99", "--address", bridge)
    assert result.exit_code == Exit.UNKNOWN_UNIT
    assert "scontrol show job 99" in result.output


@pytest.mark.parametrize("command", [("top",), ("explain", "42")])
def test_without_a_bridge_the_error_says_how_to_reach_one(command):
    result = call(*command, "--address", "127.0.0.1:1")
    assert result.exit_code == Exit.NO_BRIDGE
    assert "no bridge answers at http://127.0.0.1:1" in result.output
    assert "kubectl bridge top --namespace" in result.output


def test_something_else_at_the_address_is_told_apart(bridge):
    result = call("top", "--address", f"{bridge}/metrics?")
    assert result.exit_code == Exit.NO_BRIDGE
    assert "is not a k8s-bridge" in result.output


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_crd_prints_what_kubectl_applies(form):
    read = yaml.safe_load if form == "yaml" else json.loads
    definition = read(call("crd", "-o", form).output)
    assert definition["kind"] == "CustomResourceDefinition"
    assert definition["metadata"]["name"] == "workloadmixings.k8s-bridge.x-k8s.io"


@pytest.mark.parametrize("command", [(), ("run",), ("top",), ("explain",), ("crd",)])
def test_help_documents_the_exit_codes(command):
    output = call(*command, "--help").output
    assert "Exit codes:" in output
    for code in Exit:
        assert f"\n    {code.value}  " in output
