"""Misconfigurations of the Ray side: how each is planted, which check finds it, what its cure names."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from k8s_bridge.ray import names
from k8s_bridge.ray.policies import policies
from k8s_bridge.runtime.doctor.verdict import Verdict
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.faults import Answer, Rule
from k8s_bridge.sandbox.apiserver.kinds import Kind
from support.planted import Patient, Planted
from support.ray_sandbox import CLUSTER, HIGH, LOW, NAMESPACE, mixing

_QUEUE = "kueue.x-k8s.io/queue-name"


def _unserve(*paths: str) -> Callable[[Patient], object]:
    return lambda patient: [patient.server.app._documents.pop(path) for path in paths]


def _before_1_6(patient: Patient) -> None:
    documents = patient.server.app._documents
    found = json.loads(documents["/apis/ray.io/v1"])
    found["resources"] = [one for one in found["resources"] if "cronjobs" not in one["name"]]
    documents["/apis/ray.io/v1"] = json.dumps(found).encode()


def _delete(kind: Kind, name: str, *, namespace: str = NAMESPACE) -> Callable[[Patient], object]:
    return lambda patient: patient.storage.delete(kind, namespace if kind.namespaced else "", name)


def _patch(kind: Kind, name: str, patch: dict[str, Any], part: str = "") -> Callable[[Patient], object]:
    place = NAMESPACE if kind.namespaced else ""
    return lambda patient: patient.storage.patch(kind, place, name, patch, subresource=part)


def _ray(**section: Any) -> Callable[[Patient], object]:
    return _patch(kinds.WORKLOADMIXINGS, "main", {"spec": {"ray": section}})


def _cluster(**spec: Any) -> Callable[[Patient], object]:
    return _patch(kinds.RAYCLUSTERS, CLUSTER, {"spec": spec})


def _without_policies(patient: Patient) -> None:
    for obj in policies(prefix="ray", mutating="v1beta1"):
        patient.storage.delete(kinds.BY_KIND[obj["apiVersion"], obj["kind"]], "", obj["metadata"]["name"])


def _not_ready(reason: str, message: str) -> Callable[[Patient], object]:
    since = "2026-01-01T00:00:00Z"
    found = {"type": "RayReady", "status": "False", "reason": reason, "message": message}
    status = {"status": {"conditions": [found | {"lastTransitionTime": since}]}}
    return _patch(kinds.WORKLOADMIXINGS, "main", status, "status")


def _forbid(kind: Kind, verb: str) -> Callable[[Patient], object]:
    rule = Rule(fault=Answer(code=403, reason="Forbidden", message="may not"), verb=verb, kind=kind)
    return lambda patient: patient.server.faults.add(rule)


async def _deaf(patient: Patient) -> None:
    (place,) = patient.controllers.ray._places
    await place.server.stop()


async def _from_outside(patient: Patient) -> None:
    await _deaf(patient)
    patient.subject = replace(patient.subject, within=False)


def _another(*, labels: dict[str, str], **spec: Any) -> Callable[[Patient], object]:
    """A RayCluster besides, which the WorkloadMixing manages in place of the first."""

    def plant(patient: Patient) -> None:
        made_like = patient.cluster()["spec"]
        meta = {"name": "another", "namespace": NAMESPACE, "labels": labels}
        patient.create(kinds.RAYCLUSTERS, {"metadata": meta, "spec": made_like | spec})
        _ray(managedClusters=[{"name": "another"}])(patient)

    return plant


def _wants_token(patient: Patient) -> None:
    patient.controllers.ray.at(NAMESPACE, CLUSTER).token = "right"


def _wrong_token(patient: Patient) -> None:
    _wants_token(patient)
    _cluster(authOptions={"mode": "token"})(patient)
    patient.create(kinds.SECRETS, _secret("wrong"))


def _hidden_token(patient: Patient) -> None:
    _wrong_token(patient)
    patient.server.app.reviews.denied.add(("", "secrets", "get"))


def _secret(token: str) -> dict[str, Any]:
    data = {"auth_token": base64.b64encode(token.encode()).decode()}
    return {"metadata": {"name": CLUSTER, "namespace": NAMESPACE}, "data": data}


def _rival(patient: Patient) -> None:
    section = patient.storage.get(kinds.WORKLOADMIXINGS, NAMESPACE, "main")["spec"]["ray"]
    patient.create(kinds.WORKLOADMIXINGS, mixing(section, name="newer"))


def _pools(**pool: str) -> Callable[[Patient], object]:
    return _ray(poolMappings=[{"pool": "default", "workloadPriorityClass": LOW} | pool])


PLANTED = (
    Planted(
        name="KubeRay is not there",
        plant=_unserve("/apis/ray.io", "/apis/ray.io/v1"),
        check="kinds",
        text="ray.io is not served",
        cure="install KubeRay 1.6",
    ),
    Planted(
        name="KubeRay is too old",
        plant=_before_1_6,
        check="kuberay",
        text="older than 1.6",
        cure="its CRDs first",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="JobSet is not there",
        plant=_unserve("/apis/jobset.x-k8s.io", "/apis/jobset.x-k8s.io/v1alpha2"),
        check="kinds",
        text="jobset.x-k8s.io is not served",
        cure="install JobSet",
    ),
    Planted(
        name="no section",
        plant=_delete(kinds.WORKLOADMIXINGS, "main"),
        check="ray-sections",
        text="has a ray section",
        cure="--namespace",
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="KubeRay does not run",
        plant=lambda patient: patient.available("kuberay-operator", 0),
        check="ray-controllers",
        text="kuberay-operator: 0 of 1",
        cure="kubectl describe deployment",
    ),
    Planted(
        name="the Ray bridge does not run",
        plant=lambda patient: patient.available("ray-bridge", 0),
        check="ray-controllers",
        text="ray-bridge: 0 of 1",
        cure="kubectl describe deployment",
    ),
    Planted(
        name="a right is missing",
        plant=lambda patient: patient.server.app.reviews.denied.add(("ray.io", "rayjobs/status", "patch")),
        check="ray-rights",
        text="ServiceAccount platform/ray-bridge may not: patch rayjobs/status.ray.io",
        cure="rayBridge.namespaces",
    ),
    Planted(
        name="the token may not be read",
        plant=_hidden_token,
        check="ray-rights",
        text=f"get secrets {CLUSTER}",
        cure="rayBridge.rbac.tokenSecrets",
    ),
    Planted(
        name="no Ray bridge serves it",
        plant=_patch(kinds.WORKLOADMIXINGS, "main", {"status": {"conditions": []}}, "status"),
        check="ray-served",
        text="no Ray bridge has looked at it",
        cure="rayBridge.namespaces",
    ),
    Planted(
        name="the Ray bridge found something",
        plant=_not_ready("NotEnforced", "nothing holds"),
        check="ray-served",
        text="RayReady=False (NotEnforced): nothing holds",
        cure="the other checks",
    ),
    Planted(
        name="the namespace is not labelled",
        plant=_patch(kinds.NAMESPACES, NAMESPACE, {"metadata": {"labels": {names.MANAGED_NAMESPACE: None}}}),
        check="ray-enforced",
        text=f"no label {names.MANAGED_NAMESPACE}=true",
        cure=f"kubectl label namespace {NAMESPACE}",
    ),
    Planted(
        name="nothing is in force",
        plant=_without_policies,
        check="ray-enforced",
        text="neither policies nor a webhook",
        cure="rayBridge.admission",
    ),
    Planted(
        name="no dry run is allowed",
        plant=_forbid(kinds.RAYJOBS, "create"),
        check="ray-enforced",
        text="may not",
        cure="may create RayJobs",
        verdict=Verdict.UNSEEN,
    ),
    Planted(
        name="two mixings, one cluster",
        plant=_rival,
        check="ray-clusters-once",
        text=f"RayCluster {CLUSTER} is managed by {NAMESPACE}/newer too",
        cure="one of the two",
    ),
    Planted(
        name="the cluster is not there",
        plant=_ray(managedClusters=[{"name": "typo"}]),
        check="ray-clusters",
        text=f"RayCluster {NAMESPACE}/typo is not there",
        cure="ray.managedClusters",
    ),
    Planted(
        name="the cluster is in no queue",
        plant=_another(labels={}),
        check="ray-clusters",
        text="is in no queue",
        cure=_QUEUE,
        verdict=Verdict.DOUBTFUL,
    ),
    Planted(
        name="the cluster is suspended",
        plant=_another(labels={_QUEUE: "typo"}, suspend=True),
        check="ray-clusters",
        text="is suspended",
        cure="kubectl describe workload",
    ),
    Planted(
        name="the worker group is not there",
        plant=_ray(managedClusters=[{"name": CLUSTER, "workerGroup": "gpu"}]),
        check="ray-clusters",
        text="no worker group gpu",
        cure="workerGroup",
    ),
    Planted(
        name="the head does not answer",
        plant=_deaf,
        check="ray-heads",
        text="does not answer",
        cure="dashboard-host",
    ),
    Planted(
        name="the head is not reached from here",
        plant=_from_outside,
        check="ray-heads",
        text="from here",
        cure="doctor ray",
        verdict=Verdict.UNSEEN,
    ),
    Planted(
        name="the head wants a token that nobody told of",
        plant=_wants_token,
        check="ray-heads",
        text="wants a token",
        cure="authOptions",
    ),
    Planted(
        name="the head wants another token",
        plant=_wrong_token,
        check="ray-heads",
        text=f"does not take the token of Secret {NAMESPACE}/{CLUSTER}",
        cure="restart the head",
    ),
    Planted(
        name="the token is not there",
        plant=_cluster(authOptions={"mode": "token"}),
        check="ray-heads",
        text="the token of RayCluster",
        cure="auth_token",
    ),
    Planted(
        name="no LocalQueue",
        plant=_ray(localQueue="typo"),
        check="ray-queues",
        text="LocalQueue science/typo does not exist",
        cure="create the LocalQueue",
    ),
    Planted(
        name="a pool's LocalQueue is missing",
        plant=_pools(localQueue="typo"),
        check="ray-queues",
        text="LocalQueue science/typo does not exist",
        cure="correct localQueue",
    ),
    Planted(
        name="the queue is stopped",
        plant=_patch(kinds.CLUSTERQUEUES, "all", {"spec": {"stopPolicy": "Hold"}}),
        check="ray-queues",
        text="is stopped",
        cure="stopPolicy",
    ),
    Planted(
        name="a pool's class is missing",
        plant=_delete(kinds.PRIORITYCLASSES, HIGH),
        check="ray-priority-classes",
        text=f"WorkloadPriorityClass {HIGH} does not exist",
        cure="of pool urgent",
    ),
    Planted(
        name="no such topology level",
        plant=_ray(worker={"preferredTopology": "example.com/rack"}),
        check="ray-topology",
        text="example.com/rack",
        cure="preferredTopology",
    ),
)
