from __future__ import annotations

import asyncio
import inspect
import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner
from support.doctor_planted import PLANTED, Planted

from api.load import parse_workloadmixing
from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit
from k8s_bridge.kube import auth
from k8s_bridge.runtime.doctor.views import Selector, selects
from k8s_bridge.sandbox.apiserver.kinds import ALL, DEPLOYMENTS, WORKLOADMIXINGS
from k8s_bridge.sandbox.world.config import MIXING, NAMESPACE
from k8s_bridge.slurm.doctor import Verdict, parse, rights

TESTS = Path(__file__).parents[2]
FIXTURES, GOLDENS = TESTS / "fixtures" / "slurm", TESTS / "chart" / "goldens"
BY_NAME = {"secrets", "configmaps"}
"""What the chart grants as WorkloadMixings need it."""


async def test_a_healthy_world_is_well(patient):
    results = await patient.results()
    assert [one for one in results if one.verdict is not Verdict.FINE] == []
    assert len(results) > 30


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
async def test_what_is_planted_is_found_and_its_cure_named(patient, planted: Planted):
    made = planted.plant(patient)
    if inspect.isawaitable(made):
        await made
    found = [one for one in await patient.results() if one.check == planted.check]
    worst = [one for one in found if one.verdict is planted.verdict and planted.text in one.seen]
    assert worst, found
    assert planted.cure in worst[0].cure
    assert worst[0].why


async def test_it_writes_nothing(patient):
    before = {kind: patient.storage.list(kind) for kind in ALL}
    served = patient.world.server.app.served
    served.clear()
    patient.world.slurm.slurm.requests.clear()
    await patient.results()
    assert {verb for verb, _ in served} <= {"get", "list"}
    assert {request.split()[0] for request in patient.world.slurm.slurm.requests} == {"GET"}
    assert {kind: patient.storage.list(kind) for kind in ALL} == before


async def test_without_kubernetes_the_slurm_of_a_file_is_looked_at_all_the_same(patient):
    stored = patient.storage.get(WORKLOADMIXINGS, NAMESPACE, MIXING)
    meta = {"namespace": NAMESPACE, "name": "file"}
    mixing = parse_workloadmixing({"metadata": meta, "spec": stored["spec"]})
    patient.subject = replace(patient.subject, files=(mixing,))
    patient.server = auth.ApiServer(base_url="http://127.0.0.1:1")
    results = await patient.results()
    assert (results[0].check, results[0].verdict) == ("api-server", Verdict.WRONG)
    assert "--kubeconfig" in results[0].cure
    assert "Slurm takes the token" in {one.check: one.seen for one in results}["token"]


async def test_a_document_that_no_bridge_can_serve_is_told_with_its_problems(patient):
    patient.storage.patch(WORKLOADMIXINGS, NAMESPACE, MIXING, {"metadata": {"labels": {"x": "y"}}})
    broken = patient.storage.row(WORKLOADMIXINGS, NAMESPACE, MIXING).obj
    broken["spec"]["localQueue"] = ""
    patient.world.server.app.handlers.pager.expire()
    (told,) = [one for one in await patient.results() if one.check == "document"]
    assert told.verdict is Verdict.WRONG
    assert "localQueue" in told.seen


async def test_the_rights_are_those_of_whom_is_asked_for(patient):
    patient.subject = replace(patient.subject, account="hpc/somebody")
    found = {one.check: one.seen for one in await patient.results()}
    assert found["rights"].startswith("ServiceAccount hpc/somebody has all")


@pytest.mark.parametrize(
    ("within", "verdict", "text"),
    [
        (False, Verdict.UNSEEN, "your own rights, not the bridge's"),
        (True, Verdict.WRONG, "this pod's ServiceAccount may not: patch workloads.kueue.x-k8s.io"),
    ],
)
async def test_ones_own_rights_are_the_bridges_only_in_its_pod(patient, within, verdict, text):
    patient.world.server.app.reviews.denied.add(("kueue.x-k8s.io", "workloads", "patch"))
    patient.storage.delete(DEPLOYMENTS, "bridge", "k8s-bridge-controller")
    patient.subject = replace(patient.subject, within=within)
    (told,) = [one for one in await patient.results() if one.check == "rights"]
    assert told.verdict is verdict
    assert text in told.seen
    assert told.cure


async def test_the_lease_is_the_one_that_the_chart_names_to_its_pod(patient, call, monkeypatch):
    patient.world.server.app.reviews.denied.add(("coordination.k8s.io", "leases", "get"))
    patient.storage.delete(DEPLOYMENTS, "bridge", "k8s-bridge-controller")
    deployment = next(
        one
        for one in yaml.safe_load_all((GOLDENS / "everything.yaml").read_text())
        if one and one["kind"] == "Deployment"
    )
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])

    told = await call("--service-account", "bridge/pods", "-o", "json")

    (rights_,) = [one for one in json.loads(told.stdout) if one["check"] == "rights"]
    assert "get leases.coordination.k8s.io the-leader" in rights_["seen"]


def test_the_rights_looked_at_are_those_that_the_chart_grants():
    documents = [one for one in yaml.safe_load_all((GOLDENS / "default.yaml").read_text()) if one]
    roles = [one for one in documents if one["kind"] in ("Role", "ClusterRole")]
    ours = [rule for one in roles if not one["metadata"].get("annotations") for rule in one["rules"]]
    granted = {
        right for rule in ours for right in product(rule["apiGroups"], rule["resources"], rule["verbs"])
    }
    asked = [*rights.everywhere(), *rights.in_namespace("x"), *rights.to_lead("x", lease="y")]
    looked_at = {(right.group, right.resource, right.verb) for right in asked}
    assert {right for right in granted if right[1] not in BY_NAME} == looked_at


@pytest.fixture
def call(patient, tmp_path):
    """The command itself, in a thread beside the world."""
    conf = tmp_path / "show-config.txt"
    conf.write_text("\n".join(f"{key} = {value or '(null)'}" for key, value in patient.conf.items()))

    async def run(*args: str):
        given = ["doctor", "--kubeconfig", str(patient.world.kubeconfig), "--slurm-config", str(conf), *args]
        return await asyncio.to_thread(CliRunner().invoke, main, given)

    return run


async def test_the_command_says_what_why_and_the_cure(patient, call):
    patient.mixing(slurmRestURL="http://127.0.0.1:1")
    result = await call()
    assert result.exit_code == Exit.UNWELL, result.output
    assert "X slurmrestd: http://127.0.0.1:1" in result.output
    assert "why: the bridge sees no job" in result.output
    assert "cure: correct slurmRestURL" in result.output
    assert "is up" not in result.output, "what is fine is not shown"


async def test_the_command_is_content_with_a_healthy_world(call):
    result = await call("--all")
    assert result.exit_code == 0, result.output
    assert "ok partitions: partition batch is up" in result.output
    assert "0 wrong, 0 doubtful, 0 unseen" in result.output


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
async def test_the_command_for_machines(call, form, read):
    results = read((await call("-o", form)).output)
    assert {one["verdict"] for one in results} == {"fine"}
    assert {one["about"] for one in results} == {"cluster", "hpc/main"}


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--workloadmixing", "main"), "write for example hpc/main"),
        (("--slurm-config", "/nowhere"), "/nowhere cannot be read"),
        (("--slurm-config", __file__), "not the output of `scontrol show config`"),
        (("--kubeconfig", "/nowhere"), "--kubeconfig and --context"),
    ],
)
async def test_a_wrong_option_is_named_with_what_to_do(call, args, text):
    result = await call(*args)
    assert result.exit_code == Exit.USAGE
    assert text in result.output


def test_real_configurations_are_read():
    for release in ("22.05", "24.11"):
        conf = parse((FIXTURES / release / "scontrol-show-config.txt").read_text())
        assert conf["slurm_version"].startswith(release)
        assert conf["topologyplugin"]
        assert "pmixdebug" not in conf
        assert conf["topologyparam"] == ""


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ({}, {}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "1"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "2"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {"a": "1"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
    ],
)
def test_label_selectors_select_as_kubernetes_says(selector, labels, expected):
    assert selects(msgspec.convert(selector, Selector), labels) is expected
