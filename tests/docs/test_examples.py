"""What lies in examples/ can be applied, and goes together."""

from __future__ import annotations

from pathlib import Path

import yaml

from api.load import load_file
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.custom import check_fields, serve_custom_resources
from k8s_bridge.sandbox.apiserver.storage import Storage
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
