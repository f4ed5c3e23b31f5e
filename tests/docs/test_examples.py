"""What lies in examples/ can be applied, and goes together."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from support.chart import CASES, PROJECT, helm, render, values_of
from support.doc_commands import blocks

from api.load import load_file
from api.ray_views import RayCluster, RayJob
from k8s_bridge.core import naming
from k8s_bridge.ray import names
from k8s_bridge.ray.request import Request, request_of
from k8s_bridge.ray.workers import like_of
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.custom import check_fields, serve_custom_resources
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers.kuberay.names import NODE_TYPE_LABEL
from k8s_bridge.slurm.policy import Policies

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_queues_and_the_workloadmixing_are_taken_and_name_each_other():
    storage = Storage()
    serve_custom_resources(storage)
    storage.create(kinds.NAMESPACES, {"metadata": {"name": "hpc"}})
    documents = [*yaml.safe_load_all((EXAMPLES / "kueue.yaml").read_text())]
    documents += [yaml.safe_load((EXAMPLES / "mixing.yaml").read_text())]
    for document in documents:
        kind = kinds.BY_KIND[document["apiVersion"], document["kind"]]
        assert check_fields(kind, document) == ""
        storage.create(kind, document)

    mixing = load_file((EXAMPLES / "mixing.yaml").read_text(), name="mixing")
    routes = Policies(mixing).routes().values()
    queues = {queue["metadata"]["name"] for queue in storage.list(kinds.LOCALQUEUES, namespace="hpc")}
    classes = {one["metadata"]["name"] for one in storage.list(kinds.PRIORITYCLASSES)}
    assert {name for names, _ in routes for name in names} == queues
    assert {name for _, names in routes for name in names} == classes


@pytest.mark.parametrize(
    ("page", "example", "secrets"),
    [("README.md", "mixing.yaml", {"slurm-token"}), ("docs/ray-bridge.md", "ray.yaml", set())],
)
def test_what_a_page_installs_serves_the_example_and_is_found_where_the_page_looks(page, example, secrets):
    lines = "\n".join(block.text for block in blocks(PROJECT / page)).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines]
    (install,) = [words for words in commands if words[:2] == ["helm", "install"]]
    (top,) = [words for words in commands if words[:3] == ["kubectl", "bridge", "top"]]
    words = [word for word in install[2:] if word != "--create-namespace"]
    served = (EXAMPLES / example).read_text()
    mixings = [one for one in yaml.safe_load_all(served) if one["kind"] == "WorkloadMixing"]

    text = subprocess.run(
        [str(helm()), "template", *words], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout

    objects = [one for one in yaml.safe_load_all(text) if one]
    (deployment,) = [one for one in objects if one["kind"] == "Deployment" and _is_bridge(one)]
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {f"--namespace={one['metadata']['namespace']}" for one in mixings} <= set(args)
    assert deployment["metadata"]["namespace"] == top[top.index("--namespace") + 1]
    rules = [rule for one in objects if one["kind"] == "Role" for rule in one["rules"]]
    readable = {name for rule in rules if "secrets" in rule["resources"] for name in rule["resourceNames"]}
    assert secrets <= readable


def _is_bridge(deployment: dict[str, Any]) -> bool:
    return "run" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_the_ray_bridges_objects_go_together_and_the_job_gets_what_it_asks_for():
    made = {one["kind"]: one for one in yaml.safe_load_all((EXAMPLES / "ray.yaml").read_text())}
    cluster = msgspec.convert(made["RayCluster"], RayCluster)
    job = msgspec.convert(yaml.safe_load((EXAMPLES / "ray-job.yaml").read_text()), RayJob)
    spec = load_file(yaml.safe_dump(made["WorkloadMixing"]), name="ray").spec.ray
    kueue = [*yaml.safe_load_all((EXAMPLES / "kueue.yaml").read_text())]
    assert spec is not None
    (managed,) = spec.managed_clusters

    assert made["Namespace"]["metadata"]["labels"] == {names.MANAGED_NAMESPACE: "true"}
    assert cluster.metadata.labels[naming.QUEUE_NAME] == made["LocalQueue"]["metadata"]["name"]
    assert cluster.metadata.labels[naming.PRIORITY_CLASS] == made["WorkloadPriorityClass"]["metadata"]["name"]
    classes = {one["metadata"]["name"] for one in kueue if one["kind"] == "WorkloadPriorityClass"}
    assert {pool.workload_priority_class for pool in spec.pool_mappings} <= classes
    assert managed.name == cluster.metadata.name
    assert job.spec.cluster_selector == {names.CLUSTER_SELECTOR: managed.name}
    assert like_of(cluster, group=managed.worker_group) is not None
    asked = request_of(job, spec=spec)
    assert isinstance(asked, Request)
    assert (asked.workers, asked.cpus, asked.memory, asked.queue) == (4, 2000, 2048, "science")


def test_heads_are_open_to_the_bridge_submitters_and_workers_by_the_labels_that_they_have():
    policy = yaml.safe_load((EXAMPLES / "ray-head-networkpolicy.yaml").read_text())["spec"]
    dashboard, everything = policy["ingress"]
    (ray,) = (case for case in CASES if case.stem == "ray")
    (bridge,) = (one for one in render(values_of(ray)) if one["kind"] == "Deployment")

    assert policy["podSelector"] == {"matchLabels": {NODE_TYPE_LABEL: "head"}}
    assert dashboard["ports"] == [{"port": 8265}]
    ours, _, submitters = map(labels, dashboard["from"])
    assert ours.items() <= bridge["spec"]["template"]["metadata"]["labels"].items()
    assert submitters == {names.SUBMITTER: "true"}
    assert "ports" not in everything
    assert [labels(peer) for peer in everything["from"]] == [
        {NODE_TYPE_LABEL: "worker"},
        {names.MANAGED_BY: names.MANAGER},
    ]


def labels(peer: dict[str, Any]) -> dict[str, str]:
    return dict(peer["podSelector"]["matchLabels"])
