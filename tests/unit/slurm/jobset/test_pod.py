from __future__ import annotations

from typing import Any

import pytest
from support.jobset_cases import (
    FULL,
    LAYOUT,
    SHAPE,
    SLURMD,
    TEMPLATE,
    WHOLE,
    manifest,
    pod,
    policy,
    slurmd_of,
)

from api.v1alpha1.slurmd import GresResource
from k8s_bridge.core.errors import Terminal
from k8s_bridge.core.rendering import TemplateError
from k8s_bridge.slurm.jobset import check_template, slurm_conf, unmapped
from k8s_bridge.slurm.layout import Group, Layout, Shape
from k8s_bridge.slurm.model import Job


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


@pytest.mark.parametrize(
    ("template", "seconds"), [({}, "28"), ({"terminationGracePeriodSeconds": 300}, "298")]
)
def test_a_pod_that_drains_first_uses_its_grace(template: dict[str, Any], seconds: str) -> None:
    """All of it but what slurmd needs to end; without being asked for, none."""
    pods = {"spec": template}
    env = slurmd_of(manifest(policy=policy(pods, drain_first=True)))["env"]
    assert {"name": "SLURMD_GRACE", "value": seconds} in env
    assert all(one["name"] != "SLURMD_GRACE" for one in slurmd_of(manifest(policy=policy(pods)))["env"])


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
