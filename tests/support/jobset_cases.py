"""A job, layouts and policies that JobSets are rendered from in tests, and ways into the result."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kubernetes import client

from api.v1alpha1.slurmd import ResourceClaim, SharedStorage, Slurmd
from k8s_bridge.slurm.jobset import Policy, render_jobset
from k8s_bridge.slurm.jobset.policy import compile_template
from k8s_bridge.slurm.layout import Group, Layout, Shape
from k8s_bridge.slurm.model import Job

SLURMD = Slurmd(
    image="registry.example/slurmd:1", conf_server="slurmctld.slurm:6817", auth_secret_name="auth"
)
JOB = Job(
    job_id=42,
    name="{{ 7*7 }}",
    user_name="ada",
    user_id=1000,
    account="Phys & Chem",
    partition="batch",
    submit_time=1_700_000_000,
    restart_count=2,
    features="(fast)&nodes-for-42",
)
SHAPE = Shape(cpus=4, memory=8000, gres=(("gpu", "a100", 2),))
LAYOUT = Layout(groups=(Group(count=3, tasks=4, shape=SHAPE),), features=("fast",), time_limit=60)


def policy(template: dict[str, Any] | None = None, *, slurmd: Slurmd = SLURMD, **fields: Any) -> Policy:
    defaults: dict[str, Any] = {
        "namespace": "ml",
        "mixing": "mixing",
        "queue": "lq",
        "priority_class": "normal",
        "deadline_slack": 100,
    }
    return Policy(
        slurmd=slurmd, template=compile_template(template or {}, slurmd=slurmd), **defaults | fields
    )


def manifest(*, job: Job = JOB, layout: Layout = LAYOUT, policy: Policy | None = None) -> dict[str, Any]:
    return render_jobset(job=job, layout=layout, policy=policy or globals()["policy"]())


def job_spec(rendered: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return dict(rendered["spec"]["replicatedJobs"][index]["template"]["spec"])


def pod(rendered: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return dict(job_spec(rendered, index)["template"])


def slurmd_of(rendered: dict[str, Any], index: int = 0) -> dict[str, Any]:
    containers = pod(rendered, index)["spec"]["containers"]
    return next(dict(item) for item in containers if item["name"] == "slurmd")


def as_kubernetes_reads_it(value: dict[str, Any], kind: str) -> Any:
    """`value` through the official client's model and back: what the API does not know would be lost."""
    api = client.ApiClient()
    return api.sanitize_for_serialization(api.deserialize(json.dumps(value), kind, "application/json"))


def paths(tree: Any, prefix: str = "") -> set[str]:
    if isinstance(tree, dict):
        return {prefix} | {path for key, value in tree.items() for path in paths(value, f"{prefix}.{key}")}
    if isinstance(tree, list):
        return {path for item in tree for path in paths(item, f"{prefix}[]")}
    return {prefix}


FULL = SLURMD.model_copy(
    update={
        "privileged": False,
        "host_network": True,
        "shared_storage": SharedStorage(nfs_server="nfs", nfs_path="/export", mount_path="/home"),
        "resource_claims": (
            ResourceClaim(name="imex", resource_claim_template_name="imex-{{ job.id }}"),
            ResourceClaim(name="shared", resource_claim_name="all"),
        ),
    }
)
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "{{ job.account }}"}, "annotations": {"who": "{{ job.user }}"}},
    "spec": {
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "nodeSelector": {"zone": "a"},
        "containers": [
            {
                "name": "slurmd",
                "env": [{"name": "CORES", "value": "{{ node.cpus }}"}, {"name": "POD_NAME", "value": "x"}],
                "resources": {"requests": {"ephemeral-storage": "1Gi", "cpu": "64"}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            },
            {"name": "sidecar", "image": "sidecar:1"},
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                }
            }
        },
    },
}
WHOLE = Layout(groups=(Group(count=1, tasks=1, shape=replace(SHAPE, whole_node=True)),), features=("fast",))
