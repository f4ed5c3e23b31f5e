"""What Kueue does to Ray's objects in a namespace with a LocalQueue that is called `default`."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBS, PODS, RAYJOBS, WORKLOADS

pytestmark = pytest.mark.timeout(900)

QUEUE = "kueue.x-k8s.io/queue-name"
HOLD = {"name": "example.com/hold"}


async def default_queue(ray):
    await ray.create(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "default", "namespace": "ray"},
            "spec": {"clusterQueue": "ray"},
        }
    )


async def test_every_new_rayjob_is_queued_and_suspended_which_it_does_not_survive(ray):
    await default_queue(ray)

    async def queued():
        made = await ray.create(ray.rayjob("plain"))
        if QUEUE in made["metadata"].get("labels", {}):
            return made
        await ray.delete(RAYJOBS, made["metadata"]["name"])
        await ray.until(lambda: ray._gone(RAYJOBS, made["metadata"]["name"]), what="it is gone")
        return None

    made = await ray.until(queued, what="Kueue has seen the queue")

    assert (made["metadata"]["labels"], made["spec"]["suspend"]) == ({QUEUE: "default"}, True)
    status = await ray.until_status(made["metadata"]["name"], "ValidationFailed")
    assert "not allowed to be suspended" in status["message"]


async def test_a_submitter_is_a_workload_of_its_own_and_keeps_the_gate_of_others(ray):
    pod = {
        "restartPolicy": "Never",
        "schedulingGates": [HOLD],
        "containers": [{"name": "ray-job-submitter", "image": "testbed.local/ray:2.60"}],
    }
    made = await ray.create(ray.rayjob("sub", "true", submitterPodTemplate={"spec": pod}))
    name = made["metadata"]["name"]
    first = await ray.until_status(name, "Running")
    await default_queue(ray)

    async def admitted():
        """Pull KubeRay's lever until a submitter was made under the eyes of Kueue."""
        found = await ray.pod_of(name)
        if found["metadata"]["labels"].get(QUEUE):
            return found if found["spec"]["schedulingGates"] == [HOLD] else None
        await ray.patch(RAYJOBS, name, {"status": {"jobDeploymentStatus": "Retrying"}}, status=True)
        await ray.until(lambda: _another(ray, name, found), what="another submitter")
        return None

    submitter = await ray.until(admitted, what="Kueue has admitted the submitter")
    labels = submitter["metadata"]["labels"]
    workloads = [w for w in await ray.listed(WORKLOADS) if w["metadata"]["name"].startswith(f"pod-{name}-")]
    job = await ray.find(JOBS, name)

    assert (labels[QUEUE], labels["kueue.x-k8s.io/managed"]) == ("default", "true")
    assert submitter["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"]
    assert "kueue.x-k8s.io/managed" in submitter["metadata"]["finalizers"]
    assert [w["metadata"]["ownerReferences"][0]["uid"] for w in workloads] == [submitter["metadata"]["uid"]]
    assert {c["type"]: c["status"] for c in workloads[0]["status"]["conditions"]}["Admitted"] == "True"
    assert QUEUE not in job["metadata"]["labels"]
    assert not job["spec"].get("suspend")

    path = [{"op": "remove", "path": "/spec/schedulingGates"}]
    await ray.patch(PODS, submitter["metadata"]["name"], path, how="json")
    done = await ray.until_status(name, "Complete")
    assert done["jobId"] != first["jobId"]


async def _another(ray, name, old):
    found = await ray.pod_of(name)
    return found["metadata"]["uid"] != old["metadata"]["uid"]
