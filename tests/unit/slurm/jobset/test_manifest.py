from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.jobset_cases import (
    FULL,
    LAYOUT,
    SHAPE,
    TEMPLATE,
    WHOLE,
    as_kubernetes_reads_it,
    job_spec,
    manifest,
    paths,
    pod,
    policy,
    slurmd_of,
)

from k8s_bridge.slurm.jobset import Policy
from k8s_bridge.slurm.jobset.policy import Cluster
from k8s_bridge.slurm.layout import Group, Layout, Shape, digest
from k8s_bridge.slurm.model import Job

RECORDED = Path(__file__).parents[3] / "fixtures/jobset/recorded.json"


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
        f"{group}/requeues": "2",
        f"{group}/deadline-seconds": str(job_spec(manifest())["activeDeadlineSeconds"]),
    }


def test_pods_carry_the_labels_but_kueue_must_not_queue_them_by_themselves() -> None:
    labels = pod(manifest())["metadata"]["labels"]
    assert labels["k8s-bridge.x-k8s.io/slurm-job-id"] == "42"
    assert not any("kueue" in key for key in labels)


def test_a_cluster_key_keeps_two_slurm_clusters_apart() -> None:
    meta = manifest(policy=policy(cluster=Cluster(name="east", key="east-1f")))["metadata"]
    assert meta["name"] == "slurm-job-east-1f-42"
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
