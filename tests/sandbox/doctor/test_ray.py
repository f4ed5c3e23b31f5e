"""The Ray side of the doctor: a world in which all is well; each test plants one thing that is not."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from support.ray_doctor_planted import PLANTED, Planted
from support.ray_sandbox import NAMESPACE, RaySandbox, sandbox

from k8s_bridge.cli.main import main
from k8s_bridge.cli.output import Exit
from k8s_bridge.kube import auth
from k8s_bridge.ray.doctor import Asked, Subject, examine, rights
from k8s_bridge.runtime.doctor.verdict import Result, Verdict
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.faults import Answer, Rule

GOLDEN = Path(__file__).parents[2] / "chart" / "goldens" / "ray.yaml"
SINCE = "2026-01-01T00:00:00Z"
READY = {"type": "RayReady", "status": "True", "reason": "Ready"}
READY |= {"message": "", "lastTransitionTime": SINCE}
SLURM = {
    "slurmRestURL": "http://127.0.0.1:1",
    "allowInsecureHTTP": True,
    "localQueue": "science",
    "partitionMappings": [{"partitionName": "batch", "workloadPriorityClass": "low"}],
    "slurmd": {"image": "slurmd:1", "confServer": "none:1", "authSecretName": "none"},
}
BY_NAME = {"secrets", "leases"}
"""What the chart grants by name."""


class Patient:
    """The sandbox, without a bridge; what it is made of is reached through it."""

    def __init__(self, world: RaySandbox) -> None:
        self.world = world
        self.subject = Subject(namespaces=(NAMESPACE,), within=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    def available(self, name: str, count: int) -> None:
        status = {"status": {"availableReplicas": count}}
        self.world.storage.patch(kinds.DEPLOYMENTS, "platform", name, status, subresource="status")

    async def results(self) -> list[Result]:
        return await examine(auth.load(str(self.world.kubeconfig)), self.subject)


@pytest.fixture
async def patient(tmp_path: Path) -> AsyncIterator[Patient]:
    async with sandbox(tmp_path) as world:
        world.create(kinds.NAMESPACES, {"metadata": {"name": "platform"}})
        for name in ("kuberay-operator", "ray-bridge"):
            world.create(kinds.DEPLOYMENTS, deployment(name))
        conditions = {"status": {"conditions": [READY]}}
        world.storage.patch(kinds.WORKLOADMIXINGS, NAMESPACE, "main", conditions, subresource="status")
        yield Patient(world)


def deployment(name: str) -> dict[str, Any]:
    template = {"spec": {"serviceAccountName": name, "containers": [{"name": name, "image": f"{name}:1"}]}}
    labels = {"app.kubernetes.io/component": name}
    return {
        "metadata": {"namespace": "platform", "name": name, "labels": labels},
        "spec": {"replicas": 1, "template": template},
        "status": {"availableReplicas": 1},
    }


async def test_a_healthy_world_is_well_and_nothing_is_written(patient):
    before = {kind: patient.storage.list(kind) for kind in kinds.ALL}

    results = await patient.results()

    assert [one for one in results if one.verdict is not Verdict.FINE] == []
    assert {one.check for one in results} >= {"ray-enforced", "ray-heads", "ray-clusters", "ray-rights"}
    assert {kind: patient.storage.list(kind) for kind in kinds.ALL} == before


async def test_the_bridge_itself_sees_all_of_it_with_the_rights_that_it_has(patient):
    for kind in (
        kinds.NAMESPACES,
        kinds.RAYCLUSTERS,
        kinds.LOCALQUEUES,
        kinds.CLUSTERQUEUES,
        kinds.PRIORITYCLASSES,
    ):
        fault = Answer(code=403, reason="Forbidden", message="may not")
        patient.server.faults.add(Rule(fault=fault, verb="get", kind=kind))

    results = await patient.results()

    assert [one for one in results if one.verdict is not Verdict.FINE] == []
    assert {"ray-heads", "ray-clusters", "ray-queues"} <= {one.check for one in results}


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


def test_the_rights_looked_at_are_those_that_the_chart_grants():
    asked = [*rights.everywhere(), *rights.in_namespace("x")]
    looked_at = {(right.group, right.resource, right.verb) for right in asked}
    assert {right for right in granted() if right[1] not in BY_NAME} == looked_at


def granted() -> Iterator[tuple[str, str, str]]:
    documents = [one for one in yaml.safe_load_all(GOLDEN.read_text()) if one]
    roles = [one for one in documents if one["kind"] in ("Role", "ClusterRole")]
    for rule in (rule for one in roles if not one["metadata"].get("annotations") for rule in one["rules"]):
        yield from product(rule["apiGroups"], rule["resources"], rule["verbs"])


async def test_who_asks_for_both_sides_hears_of_ray_only_where_there_is_a_section(patient):
    patient.storage.delete(kinds.WORKLOADMIXINGS, NAMESPACE, "main")
    patient.subject = Subject(namespaces=(NAMESPACE,), asked=Asked.ALONG)

    assert await patient.results() == []


async def test_the_command_looks_at_the_side_that_is_asked_for(patient):
    patient.storage.delete(kinds.PRIORITYCLASSES, "", "high")
    given = ["doctor", "--kubeconfig", str(patient.kubeconfig), "--output", "json"]

    ray, both = [await asyncio.to_thread(CliRunner().invoke, main, [*given, *side]) for side in (["ray"], [])]

    assert ray.exit_code == Exit.UNWELL, ray.output
    checks = [one["check"] for one in json.loads(ray.output)]
    assert "ray-priority-classes" in checks
    assert "partitions-once" not in checks
    assert {one["check"] for one in json.loads(both.output)} == set(checks)


async def test_the_side_of_slurm_is_looked_at_where_a_slurm_cluster_is_named(patient):
    given = ["doctor", "--kubeconfig", str(patient.kubeconfig), "--output", "json"]
    alone = await asyncio.to_thread(CliRunner().invoke, main, [*given, "slurm"])
    assert "there is no WorkloadMixing of a Slurm cluster in science" in alone.output
    there = patient.storage.get(kinds.WORKLOADMIXINGS, NAMESPACE, "main")["spec"]
    patient.storage.patch(kinds.WORKLOADMIXINGS, NAMESPACE, "main", {"spec": there | SLURM})

    both = await asyncio.to_thread(CliRunner().invoke, main, given)

    told = [one["check"] for one in json.loads(both.output)]
    assert {"ray-priority-classes", "partitions-once"} <= {*told}
    assert told.count("kinds") == 4
