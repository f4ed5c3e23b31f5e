from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes import client

from api.v1alpha1.slurmd import GresResource, ResourceClaim, SharedStorage, Slurmd
from k8s_bridge.core.errors import Terminal
from k8s_bridge.core.rendering import TemplateError
from k8s_bridge.slurm.jobset import Policy, check_template, render_jobset, slurm_conf, unmapped
from k8s_bridge.slurm.jobset.policy import compile_template
from k8s_bridge.slurm.layout import Group, Layout, Shape, digest
from k8s_bridge.slurm.model import Job

RECORDED = Path(__file__).parents[3] / "fixtures/jobset/recorded.json"
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


@pytest.mark.parametrize(
    ("layout", "chosen"),
    [
        (LAYOUT, policy()),
        (LAYOUT, policy(TEMPLATE)),
        (
            WHOLE,
            policy(TEMPLATE, slurmd=FULL, preferred_topology="rack", node_selectors={"fast": {"f": "1"}}),
        ),
        (WHOLE, policy(slurmd=FULL)),
    ],
)
def test_kubernetes_knows_every_field(layout: Layout, chosen: Policy) -> None:
    rendered = manifest(layout=layout, policy=chosen)
    assert as_kubernetes_reads_it(job_spec(rendered), "V1JobSpec") == job_spec(rendered)
    assert as_kubernetes_reads_it(pod(rendered), "V1PodTemplateSpec") == pod(rendered)
    assert as_kubernetes_reads_it(rendered["metadata"], "V1ObjectMeta") == rendered["metadata"]


def test_the_jobset_around_the_jobs_has_only_fields_that_a_real_one_has() -> None:
    recorded = json.loads(RECORDED.read_text())
    rendered = manifest()
    for tree in (recorded, rendered):
        tree.pop("metadata")
        for item in tree["spec"]["replicatedJobs"]:
            item["template"]["spec"] = {}
    assert paths(rendered) <= paths(recorded)
    assert {key: rendered[key] for key in ("apiVersion", "kind")} == {
        key: recorded[key] for key in ("apiVersion", "kind")
    }


def test_it_is_created_suspended_queued_and_named_for_the_job() -> None:
    rendered = manifest(policy=policy(owners=({"kind": "WorkloadMixing", "uid": "1"},)))
    assert rendered["spec"]["suspend"] is True
    meta = rendered["metadata"]
    assert (meta["namespace"], meta["name"]) == ("ml", "slurm-job-42")
    assert meta["ownerReferences"] == [{"kind": "WorkloadMixing", "uid": "1"}]
    group = "k8s-bridge.x-k8s.io"
    assert meta["labels"] == {
        f"{group}/managed-by": "k8s-bridge",
        f"{group}/slurm-job-id": "42",
        f"{group}/workloadmixing": "mixing",
        f"{group}/partition": "batch",
        f"{group}/account": "Phys-Chem",
        f"{group}/user": "ada",
        "kueue.x-k8s.io/queue-name": "lq",
        "kueue.x-k8s.io/priority-class": "normal",
    }
    assert meta["annotations"] == {
        f"{group}/identity": "1700000000.2.1000",
        f"{group}/user-constraints": "fast",
        f"{group}/shape": digest(LAYOUT),
        f"{group}/requeues": "0",
    }


def test_pods_carry_the_labels_but_kueue_must_not_queue_them_by_themselves() -> None:
    labels = pod(manifest())["metadata"]["labels"]
    assert labels["k8s-bridge.x-k8s.io/slurm-job-id"] == "42"
    assert not any("kueue" in key for key in labels)


def test_a_cluster_key_keeps_two_slurm_clusters_apart() -> None:
    meta = manifest(policy=policy(cluster="east"))["metadata"]
    assert meta["name"] == "slurm-job-east-42"
    assert meta["labels"]["k8s-bridge.x-k8s.io/cluster"] == "east"


def test_one_replicated_job_for_each_group_with_a_pod_for_each_node() -> None:
    groups = (Group(count=1, tasks=2, shape=SHAPE), Group(count=2, tasks=1, shape=Shape(cpus=1, memory=0)))
    rendered = manifest(layout=Layout(groups=groups))
    assert [item["name"] for item in rendered["spec"]["replicatedJobs"]] == ["g0", "g1"]
    specs = [job_spec(rendered, index) for index in (0, 1)]
    assert [(s["completionMode"], s["completions"], s["parallelism"]) for s in specs] == [
        ("Indexed", 1, 1),
        ("Indexed", 2, 2),
    ]
    assert slurmd_of(rendered, 1)["resources"]["limits"] == {"cpu": "1"}


def test_a_lost_pod_is_replaced_and_a_disruption_is_free() -> None:
    rendered = manifest()
    spec = job_spec(rendered)
    assert spec["backoffLimit"] > 0
    assert spec["podFailurePolicy"]["rules"][0]["action"] == "Ignore"
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert pod(rendered)["spec"]["restartPolicy"] == "Never"
    assert rendered["spec"]["failurePolicy"] == {"maxRestarts": 0}


def test_the_deadline_is_the_time_limit_with_slack_and_absent_without_a_limit() -> None:
    assert job_spec(manifest())["activeDeadlineSeconds"] == 60 * 60 + 100
    assert "activeDeadlineSeconds" not in job_spec(manifest(layout=WHOLE))


def test_a_container_gets_what_slurm_hands_out_and_slurmds_own_memory() -> None:
    resources = slurmd_of(manifest())["resources"]
    assert resources["requests"] == resources["limits"]
    assert resources["limits"] == {"cpu": "4", "memory": "8256Mi", "nvidia.com/gpu": "2"}


def test_gres_become_the_resources_that_the_administrator_names() -> None:
    mapped = SLURMD.model_copy(
        update={
            "gres_resources": (
                GresResource(gres="gpu:a100", resource_name="nvidia.com/a100"),
                GresResource(gres="fpga", resource_name="intel.com/fpga"),
                GresResource(gres="nic", device_class_name="rdma"),
            )
        }
    )
    gres = (("fpga", "x", 1), ("gpu", "a100", 2), ("gpu", "h100", 1), ("nic", "", 3))
    layout = Layout(groups=(Group(count=1, tasks=1, shape=Shape(cpus=1, memory=0, gres=gres)),))
    limits = slurmd_of(manifest(layout=layout, policy=policy(slurmd=mapped)))["resources"]["limits"]
    assert limits == {
        "cpu": "1",
        "intel.com/fpga": "1",
        "nvidia.com/a100": "2",
        "nvidia.com/gpu": "1",
        "deviceclass.resource.kubernetes.io/rdma": "3",
    }


def test_a_gres_without_a_resource_is_refused_and_never_rendered() -> None:
    shape = Shape(cpus=1, memory=0, gres=(("fpga", "big", 1),))
    layout = Layout(groups=(Group(count=1, tasks=1, shape=shape),))
    refusal = unmapped(layout, slurmd=SLURMD)
    assert refusal is not None
    assert refusal.option == "--gres=fpga:big"
    assert unmapped(LAYOUT, slurmd=SLURMD) is None
    with pytest.raises(Terminal, match="fpga:big"):
        manifest(layout=layout)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (SHAPE, "Features=nodes-for-42,fast CPUs=4 RealMemory=8000 Gres=gpu:a100:2"),
        (Shape(cpus=1, memory=0), "Features=nodes-for-42,fast CPUs=1"),
    ],
)
def test_the_conf_line_says_what_was_asked_and_nothing_empty(shape: Shape, expected: str) -> None:
    assert slurm_conf(shape, features=("nodes-for-42", "fast")) == expected


def test_unprivileged_pods_keep_what_srun_needs() -> None:
    assert slurmd_of(manifest())["securityContext"] == {"privileged": True}
    context = slurmd_of(manifest(policy=policy(slurmd=FULL)))["securityContext"]
    assert context["privileged"] is False
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert context["capabilities"]["drop"] == ["ALL"]
    assert {"SYS_ADMIN", "SYS_NICE", "NET_ADMIN", "SETUID", "SETGID", "CHOWN"} <= set(
        context["capabilities"]["add"]
    )


def test_slurmd_settings_reach_the_pod() -> None:
    spec = pod(manifest(policy=policy(slurmd=FULL)))["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert spec["automountServiceAccountToken"] is False
    volumes = {item["name"]: item for item in spec["volumes"]}
    assert volumes["slurm-auth"]["secret"]["secretName"] == "auth"
    assert volumes["slurm-shared"]["nfs"] == {"server": "nfs", "path": "/export"}
    mounts = {item["name"]: item["mountPath"] for item in spec["containers"][0]["volumeMounts"]}
    assert mounts == {"slurm-auth": "/etc/slurm", "slurm-shared": "/home"}
    assert spec["resourceClaims"] == [
        {"name": "imex", "resourceClaimTemplateName": "imex-42"},
        {"name": "shared", "resourceClaimName": "all"},
    ]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "imex"}, {"name": "shared"}]


def test_the_bridges_fields_lie_over_the_operators_template() -> None:
    rendered = manifest(policy=policy(TEMPLATE, node_selectors={"fast": {"disk": "nvme"}}))
    spec, container = pod(rendered)["spec"], slurmd_of(rendered)
    assert pod(rendered)["metadata"]["labels"]["team"] == "Phys & Chem"
    assert pod(rendered)["metadata"]["annotations"] == {"who": "ada"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert spec["nodeSelector"] == {"zone": "a", "disk": "nvme"}
    assert [item["name"] for item in spec["containers"]] == ["slurmd", "sidecar"]
    assert container["resources"]["requests"] == {
        "ephemeral-storage": "1Gi",
        "cpu": "4",
        "memory": "8256Mi",
        "nvidia.com/gpu": "2",
    }
    assert [item["name"] for item in container["env"]] == ["POD_NAME", "CORES"]
    assert container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert {"name": "scratch", "mountPath": "/scratch"} in container["volumeMounts"]


def test_a_template_cannot_take_over_what_the_bridge_owns() -> None:
    stolen = {
        "metadata": {"labels": {"k8s-bridge.x-k8s.io/slurm-job-id": "1"}},
        "spec": {
            "restartPolicy": "Always",
            "automountServiceAccountToken": True,
            "containers": [{"name": "slurmd", "image": "evil", "command": ["sh"], "args": []}],
        },
    }
    assert pod(manifest(policy=policy(stolen))) == pod(manifest())


def test_whole_nodes_are_not_shared_with_another_pod_of_the_bridge() -> None:
    affinity = pod(manifest(layout=WHOLE, policy=policy(TEMPLATE)))["spec"]["affinity"]
    assert "nodeAffinity" in affinity
    (term,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"].items() <= pod(manifest())["metadata"]["labels"].items()


def test_topology_is_required_for_switches_and_preferred_else() -> None:
    aware = policy(required_topology="block", preferred_topology="rack")
    assert pod(manifest(policy=aware))["metadata"]["annotations"] == {
        "kueue.x-k8s.io/podset-preferred-topology": "rack"
    }
    switches = Job(job_id=42, required_switches=1)
    assert pod(manifest(job=switches, policy=aware))["metadata"]["annotations"] == {
        "kueue.x-k8s.io/podset-required-topology": "block"
    }
    assert "annotations" not in pod(manifest())["metadata"]


def test_nothing_empty_is_sent() -> None:
    def empty(tree: Any, path: str = "") -> list[str]:
        if isinstance(tree, dict | list) and tree:
            pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
            return [found for key, value in pairs for found in empty(value, f"{path}.{key}")]
        return [path] if tree in ({}, [], "", None) else []

    assert empty(manifest(job=Job(job_id=1), policy=policy({"spec": None}))) == [
        ".metadata.annotations.k8s-bridge.x-k8s.io/user-constraints"
    ]


texts = st.text(max_size=80)


@given(name=texts, user=texts, account=texts, comment=texts)
def test_no_text_of_a_user_changes_what_is_run(name: str, user: str, account: str, comment: str) -> None:
    job = Job(job_id=42, name=name, user_name=user, account=account, comment=comment)
    chosen = policy({"metadata": {"annotations": {"about": "{{ job.name }} {{ job.comment }}"}}})
    rendered, plain = (manifest(job=j, policy=chosen) for j in (job, Job(job_id=42)))
    assert pod(rendered)["spec"] == pod(plain)["spec"]
    for value in rendered["metadata"]["labels"].values():
        assert len(value) <= 63
        assert value.isascii()
        assert value[0].isalnum()
        assert value[-1].isalnum()


@pytest.mark.parametrize(
    "template",
    [
        {"spec": {"nodeSelector": {"a": "{{ job.nosuch }}"}}},
        {"spec": "{{ job.name }}"},
        {"spec": {"containers": "none"}},
        {"metadata": ["labels"]},
        {"spec": {"affinity": {"podAntiAffinity": 1}}},
    ],
)
def test_a_template_that_gives_no_pod_is_found_before_a_job_needs_it(template: dict[str, Any]) -> None:
    with pytest.raises(TemplateError):
        check_template(policy(template))
    check_template(policy(TEMPLATE))
