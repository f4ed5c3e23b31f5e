"""What the JobSet webhook refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from conformance.cluster import Cluster

_DENIED = 'admission webhook "validate-jobset-x-k8s-io-v1alpha2-jobset.x-k8s.io" denied the request: '


def _replicas(entry: dict[str, Any]) -> None:
    entry["replicas"] = 2


def _deadline(entry: dict[str, Any]) -> None:
    entry["template"]["spec"]["activeDeadlineSeconds"] = 99


def _image(entry: dict[str, Any]) -> None:
    entry["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "other"


def _pod_label(entry: dict[str, Any]) -> None:
    entry["template"]["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})["z"] = "z"


def _selector(entry: dict[str, Any]) -> None:
    entry["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}


async def _try(cluster: Cluster, change: Any) -> tuple[int, str]:
    replicated = copy.deepcopy((await cluster.get("jobset/a"))["spec"]["replicatedJobs"])
    change(replicated[0])
    answer = await cluster.try_patch("jobset/a", {"spec": {"replicatedJobs": replicated}})
    message = answer.json().get("message", "")
    if answer.status_code == 403:
        assert message.startswith(f"{_DENIED}spec.replicatedJobs: Invalid value: ")
        assert message.endswith(": field is immutable")
    return answer.status_code, answer.json().get("reason", "")


async def test_a_waiting_jobset_can_change_where_its_pods_go_and_nothing_else(cluster: Cluster):
    await cluster.furnish()
    await cluster.queue("a", cpu="2")

    for change in (_replicas, _deadline, _image):
        assert await _try(cluster, change) == (403, "Forbidden")
    for change in (_selector, _pod_label):
        assert await _try(cluster, change) == (200, "")


async def test_a_running_jobset_can_change_nothing_of_its_pods(cluster: Cluster):
    await cluster.furnish()
    await cluster.run("a")

    for change in (_replicas, _deadline, _image, _selector, _pod_label):
        assert await _try(cluster, change) == (403, "Forbidden")


@pytest.mark.parametrize(
    ("length", "refused"),
    [(51, ()), (52, ("pod",)), (59, ("pod",)), (60, ("job", "pod"))],
    ids=["fits", "pods too long", "jobs fit", "jobs too long"],
)
async def test_names_leave_room_for_the_names_of_jobs_and_pods(cluster: Cluster, length, refused):
    name = "x" * length
    answer = await cluster.try_create(cluster.make.jobset(name, queue=""))

    causes = [
        f'spec.replicatedJobs[0].name: Invalid value: "{name}-w-0": JobSet name is too long, '
        f"{what} names generated for this JobSet will exceed 63 characters"
        for what in refused
    ]
    assert answer.status_code == (403 if refused else 201)
    if refused:
        assert answer.json()["message"] == _DENIED + "\n".join(causes)


async def test_names_begin_with_a_letter(cluster: Cluster):
    answer = await cluster.try_create(cluster.make.jobset("1st", queue=""))

    assert answer.status_code == 403
    assert "a DNS-1035 label must consist of lower case alphanumeric characters" in answer.json()["message"]
