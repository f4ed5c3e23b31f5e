"""The parts that a bridge for Ray jobs will stand on."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from testbed import lifecycle, ray_cluster
from testbed.control import kubectl
from testbed.ray_cluster import NAME, NAMESPACE, RayCluster
from testbed.shell import Failed, until

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(900)]

TASK = """python3 -c "
import ray
ray.init()
where = ray.remote(lambda: ray.get_runtime_context().get_node_id())
assert ray.get(where.remote()) != ray.get_runtime_context().get_node_id()
print('the task ran elsewhere')
"
"""


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    if not lifecycle.is_here():
        pytest.skip("the testbed is not up, or this is not its network: make testbed && make testbed-test")
    with ray_cluster.running() as cluster:
        yield cluster


def workloads() -> list[dict]:
    return json.loads(kubectl("-n", NAMESPACE, "get", "workloads.kueue.x-k8s.io", "-o", "json"))["items"]


def condition(obj: dict, kind: str) -> str:
    return next((c["status"] for c in obj["status"]["conditions"] if c["type"] == kind), "")


def test_kueue_admits_the_shared_cluster_as_one_workload(ray):
    (workload,) = workloads()
    (used,) = ray_cluster.get("clusterqueue", "ray")["status"]["flavorsUsage"]

    assert workload["metadata"]["ownerReferences"][0]["name"] == NAME
    assert condition(workload, "Admitted") == "True"
    assert {each["name"]: each["total"] for each in used["resources"]} == {"cpu": "1500m", "memory": "2Gi"}


def test_a_job_given_to_the_jobs_api_runs_its_tasks_on_a_worker(ray):
    job = ray.submit(TASK)

    def ended() -> None:
        if ray.job(job)["status"] not in ("SUCCEEDED", "FAILED", "STOPPED"):
            raise Failed(str(ray.job(job)))

    until("the job has ended", ended, seconds=300)
    assert ray.job(job)["status"] == "SUCCEEDED", ray.logs(job)
    assert "the task ran elsewhere" in ray.logs(job)


def test_an_inner_ray_job_runs_in_the_cluster_and_kueue_sees_nothing_of_it(ray):
    before = [workload["metadata"]["uid"] for workload in workloads()]
    inner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "inner", "namespace": NAMESPACE},
        "spec": {"clusterSelector": {"ray.io/cluster": NAME}, "entrypoint": TASK},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(inner))

    def ended() -> None:
        status = ray_cluster.get("rayjob", "inner").get("status", {})
        if status.get("jobDeploymentStatus") not in ("Complete", "Failed"):
            raise Failed(str(status))

    until("the RayJob has ended", ended, seconds=300)
    assert ray_cluster.get("rayjob", "inner")["status"]["jobStatus"] == "SUCCEEDED"
    assert [workload["metadata"]["uid"] for workload in workloads()] == before
    assert ray_cluster.get("raycluster", NAME)["status"]["state"] == "ready"
