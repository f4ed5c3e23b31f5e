from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit


def call(*args):
    return CliRunner().invoke(main, ["slurm-plugin", *map(str, args)])


@pytest.fixture
def file(tmp_path, spec):
    path = tmp_path / "main.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def test_it_writes_the_files_and_says_which(file, tmp_path):
    out = tmp_path / "etc" / "slurm"
    result = call("--config", file, "--directory", out, "--nudge-url", "http://bridge:8080/")
    assert result.exit_code == 0, result.output
    names = ["job_submit.lua", "slurm.conf.fragment", "k8s-bridge-nudge", "cli_filter.lua"]
    assert result.output.splitlines() == [str(out / name) for name in names]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    assert (out / "k8s-bridge-nudge").stat().st_mode & 0o111
    assert "http://bridge:8080/nudge" in (out / "k8s-bridge-nudge").read_text()
    assert '["cpu"] = {}' in (out / "job_submit.lua").read_text()


def test_help_documents_the_exit_codes_and_what_it_makes():
    output = call("--help").output
    assert "Exit codes:" in output
    assert "job_submit.lua" in output


def test_it_prints_when_asked_to(file, tmp_path):
    before = sorted(tmp_path.iterdir())
    result = call("--config", file, "--print", "--max-node-count", 77)
    assert result.exit_code == 0
    assert "==> job_submit.lua <==" in result.output
    assert "MaxNodeCount=77\n" in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_files_of_ours_are_written_over_and_those_of_others_are_not(file, tmp_path):
    assert call("--config", file, "--directory", tmp_path).exit_code == 0
    assert call("--config", file, "--directory", tmp_path).exit_code == 0
    fragment = (tmp_path / "slurm.conf.fragment").read_text()
    (tmp_path / "job_submit.lua").write_text("-- the site's own\n")
    result = call("--config", file, "--directory", tmp_path, "--max-node-count", 9)
    assert result.exit_code == Exit.USAGE
    assert "job_submit.lua is not one of ours" in result.output
    assert (tmp_path / "job_submit.lua").read_text() == "-- the site's own\n"
    assert (tmp_path / "slurm.conf.fragment").read_text() == fragment


def test_it_reads_a_custom_resource(kubeconfig):
    result = call("--workloadmixing", "hpc/main", "--kubeconfig", kubeconfig, "--print")
    assert result.exit_code == 0, result.output
    assert '["cpu"] = {}' in result.output


def test_it_prints_for_machines(file):
    files = json.loads(call("--config", file, "-o", "json").output)
    assert [(one["name"], one["mode"]) for one in files] == [
        ("job_submit.lua", "644"),
        ("slurm.conf.fragment", "644"),
    ]
    assert '["cpu"] = {}' in files[0]["text"]


def test_a_custom_resource_that_is_not_there_is_named(kubeconfig):
    result = call("--workloadmixing", "hpc/other", "--kubeconfig", kubeconfig, "--print")
    assert result.exit_code == Exit.FAILED
    assert "other" in result.output


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--print",), "--config FILE or --workloadmixing"),
        (("--config", "FILE"), "either --directory or --print"),
        (("--config", "FILE", "--print", "--directory", "x"), "either --directory or --print"),
        (("--config", "FILE", "--config", "FILE", "--print"), "partition cpu is managed twice"),
        (("--config", "FILE", "--print", "--nudge-url", "bridge:8080"), "write for example http://"),
        (("--config", "/nowhere.yaml", "--print"), "/nowhere.yaml cannot be read"),
        (("--workloadmixing", "main", "--print"), "write for example hpc/main"),
        (("--workloadmixing", "hpc/main", "--kubeconfig", "/nowhere", "--print"), "/nowhere"),
    ],
)
def test_a_wrong_option_is_named_with_what_to_do(file, args, text):
    result = call(*(file if arg == "FILE" else arg for arg in args))
    assert result.exit_code == Exit.USAGE
    assert text in result.output
    assert "Traceback" not in result.output


def test_a_wrong_document_is_told_with_all_its_problems(tmp_path, spec):
    path = tmp_path / "main.yaml"
    path.write_text(yaml.safe_dump({**spec, "localQueue": "", "slurmRestURL": "http://slurm"}))
    result = call("--config", path, "--print")
    assert result.exit_code == Exit.USAGE
    assert "localQueue" in result.output
    assert "slurmRestURL" in result.output


@pytest.mark.parametrize("command", [("slurm-plugin", "--print"), ("render", "-")])
def test_a_mixing_for_ray_alone_is_none_of_a_slurm_cluster(command, tmp_path):
    ray = {
        "localQueue": "science",
        "managedClusters": [{"name": "shared"}],
        "poolMappings": [{"pool": "default", "workloadPriorityClass": "low"}],
    }
    path = tmp_path / "ray.yaml"
    path.write_text(yaml.safe_dump({"ray": ray}))
    result = CliRunner().invoke(main, [*command, "--config", str(path)], input="#!/bin/sh\n")
    assert result.exit_code == Exit.USAGE
    assert f"{path}: names no Slurm cluster, only ray" in result.output
