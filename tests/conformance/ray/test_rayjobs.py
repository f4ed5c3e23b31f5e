"""KubeRay and the RayJobs of a shared cluster."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.apiserver.kinds import JOBS, PODS, RAYCLUSTERS, RAYJOBS

pytestmark = pytest.mark.timeout(900)

_NOWHERE = r"{\"nowhere\": 1}"
_INVALID = "The RayJob spec is invalid: "


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"backoffLimit": 1}, _INVALID + "BackoffLimit is incompatible with ClusterSelector mode"),
        ({"backoffLimit": -1}, _INVALID + "backoffLimit must be a positive integer"),
        (
            {"suspend": True},
            _INVALID + "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
        ),
        (
            {"suspend": True, "shutdownAfterJobFinishes": True},
            _INVALID + "the ClusterSelector mode doesn't support the suspend operation",
        ),
        (
            {"ttlSecondsAfterFinished": 5},
            _INVALID
            + "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished",
        ),
        ({"submissionMode": "SidecarMode"}, "ClusterSelector is not supported in SidecarMode"),
        ({"clusterSelector": {"app": "x"}}, "cluster name in ClusterSelector should not be empty"),
        ({"clusterSelector": {}}, _INVALID + "one of RayClusterSpec or ClusterSelector must be set"),
        ({"activeDeadlineSeconds": 0}, _INVALID + "activeDeadlineSeconds must be a positive integer"),
    ],
)
async def test_what_kuberay_does_not_do_it_says_and_does_not_come_back_to(ray, spec, message):
    manifest = ray.rayjob("bad", **spec)
    name = (await ray.create(manifest))["metadata"]["name"]

    status = await ray.until_status(name, "ValidationFailed")

    assert (status["reason"], status["message"]) == ("ValidationFailed", message)
    await ray.hears(name, "Warning", "InvalidRayJobSpec", f"ray/{name}: {message}")
    assert "jobId" not in status
    assert await ray.find(JOBS, name) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x" * 48, "RayJob name should be no more than 47 characters"),
        ("a.b", "RayJob name should be a valid DNS1035 label: [a DNS-1035 label must consist of"),
    ],
)
async def test_names_that_kuberay_does_not_take(ray, name, message):
    manifest = ray.rayjob("bad")
    manifest["metadata"]["name"] = (
        (ray.mark + name)[: max(48, len(name))] if name[0] == "x" else ray.mark + name
    )
    made = await ray.create(manifest)

    status = await ray.until_status(made["metadata"]["name"], "ValidationFailed")

    assert status["message"].startswith(f"The RayJob metadata is invalid: {message}")


async def test_a_job_runs_in_the_shared_cluster_from_its_submitter(ray):
    made = await ray.create(ray.rayjob("life", 'python3 -c "print(1)"'))
    name = made["metadata"]["name"]

    status = await ray.until_status(name, "Complete")
    submitter = await ray.find(JOBS, name)
    rayjob = await ray.find(RAYJOBS, name)
    cluster = await ray.find(RAYCLUSTERS, "shared")

    assert (status["jobStatus"], status["message"]) == ("SUCCEEDED", "Job finished successfully.")
    assert (status["succeeded"], status["failed"], status["rayClusterName"]) == (1, 0, "shared")
    assert status["dashboardURL"] == "shared-head-svc.ray.svc.cluster.local:8265"
    assert status["jobId"].startswith(f"{name}-")
    assert {"startTime", "endTime"} <= status["rayJobInfo"].keys()
    assert status["rayClusterStatus"]["state"] == "ready"
    assert rayjob["metadata"]["finalizers"] == ["ray.io/rayjob-finalizer"]
    assert submitter["metadata"]["labels"] == {
        "app.kubernetes.io/created-by": "kuberay-operator",
        "ray.io/originated-from-cr-name": name,
        "ray.io/originated-from-crd": "RayJob",
    }
    assert submitter["spec"]["backoffLimit"] == 2
    assert submitter["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    assert (await ray.job(status["jobId"]))["status"] == "SUCCEEDED"
    await ray.hears(name, "Normal", "CreatedRayJobSubmitter", f"Created Kubernetes Job ray/{name}")
    assert cluster["status"]["state"] == "ready"


async def test_the_submitter_says_all_that_ray_is_to_know(ray):
    name = (
        await ray.create(
            ray.rayjob(
                "says",
                "true",
                entrypointNumCpus=0.5,
                entrypointResources='{"nowhere": 1}',
                runtimeEnvYAML="env_vars:\n  B: '2'\n  A: 'x \"y\"'\n",
            )
        )
    )["metadata"]["name"]

    status = await ray.until_status(name, "Running")
    container = (await ray.find(JOBS, name))["spec"]["template"]["spec"]["containers"][0]
    address, job_id = "--address http://shared-head-svc.ray.svc.cluster.local:8265", status["jobId"]

    assert container["name"] == "ray-job-submitter"
    assert container["command"] == ["/bin/bash", "-ce", "--"]
    script = (
        f"if ! ray job status {address} {job_id} >/dev/null 2>&1 ; then ray job submit {address} --no-wait "
        r'--runtime-env-json "{\"env_vars\":{\"A\":\"x \\\"y\\\"\",\"B\":\"2\"}}" '
        rf'--submission-id {job_id} --entrypoint-num-cpus 0.500000 --entrypoint-resources "{_NOWHERE}" '
        f"-- true ; fi ; ray job logs {address} --follow {job_id}"
    )
    assert container["args"] == [script]
    assert {"name": "RAY_JOB_SUBMISSION_ID", "value": job_id} in container["env"]

    job = await ray.until(lambda: _known(ray, job_id), what="Ray knows the job")
    assert job["runtime_env"]["env_vars"] == {"A": 'x "y"', "B": "2"}


async def _known(ray, job_id):
    answer = await ray.head.get(f"/api/jobs/{job_id}")
    return answer.json() if answer.is_success else None


async def test_a_job_that_fails_is_told_when_its_submitter_has_ended(ray):
    name = (await ray.create(ray.rayjob("fails", "exit 3")))["metadata"]["name"]

    status = await ray.until_status(name, "Failed")
    pod = await ray.pod_of(name)

    assert (status["jobStatus"], status["reason"], status["failed"]) == ("FAILED", "AppFailed", 1)
    assert "Job entrypoint command failed with exit code 3" in status["message"]
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


async def test_a_gated_submitter_holds_a_job_back_and_nothing_times_out(ray):
    gated = {
        "restartPolicy": "Never",
        "schedulingGates": [{"name": "example.com/hold"}],
        "containers": [{"name": "ray-job-submitter", "image": "testbed.local/ray:2.60"}],
    }
    template = {"spec": gated}
    name = (await ray.create(ray.rayjob("held", "true", submitterPodTemplate=template)))["metadata"]["name"]

    status = await ray.until_status(name, "Running")
    pod = await ray.pod_of(name)
    assert "jobStatus" not in status
    assert pod["status"]["phase"] == "Pending"
    assert (await ray.head.get(f"/api/jobs/{status['jobId']}")).status_code == 404

    await ray.patch(
        PODS, pod["metadata"]["name"], [{"op": "remove", "path": "/spec/schedulingGates"}], how="json"
    )
    assert (await ray.until_status(name, "Complete"))["jobStatus"] == "SUCCEEDED"


async def test_retrying_is_a_new_attempt_with_a_new_submitter_in_the_same_cluster(ray):
    name = (await ray.create(ray.rayjob("again", "sleep 300")))["metadata"]["name"]
    first = await ray.until_status(name, "Running", "RUNNING")
    submitter = await ray.find(JOBS, name)
    cluster = await ray.find(RAYCLUSTERS, "shared")

    await ray.patch(RAYJOBS, name, {"status": {"jobDeploymentStatus": "Retrying"}}, status=True)

    async def anew():
        status = await ray.status(name)
        return (
            status if status.get("jobId") not in (None, first["jobId"]) and "dashboardURL" in status else None
        )

    second = await ray.until(anew, what="another attempt")
    assert (await ray.find(JOBS, name))["metadata"]["uid"] != submitter["metadata"]["uid"]
    assert (await ray.find(RAYCLUSTERS, "shared"))["metadata"]["uid"] == cluster["metadata"]["uid"]
    assert (await ray.job(first["jobId"]))["status"] == "RUNNING", "KubeRay does not stop the old job"
    await ray.hears(name, "Normal", "DeletedRayJobSubmitter", f"Deleted submitter K8s Job ray/{name}")
    assert (second["failed"], second["succeeded"]) == (0, 0)
    await ray.head.post(f"/api/jobs/{first['jobId']}/stop")


async def test_a_deleted_job_is_stopped_in_ray(ray):
    name = (await ray.create(ray.rayjob("deleted", "sleep 300")))["metadata"]["name"]
    status = await ray.until_status(name, "Running", "RUNNING")

    await ray.delete(RAYJOBS, name)

    assert (await ray.until_job(status["jobId"], "STOPPED"))["status"] == "STOPPED"


async def test_a_cluster_that_is_not_there_is_waited_for(ray):
    manifest = ray.rayjob("nowhere", clusterSelector={"ray.io/cluster": "nosuch"})
    name = (await ray.create(manifest))["metadata"]["name"]

    async def told():
        return [e for e in await ray.events(name) if e[1] == "RayClusterNotFound"]

    ((kind, _, message),) = await ray.until(told, what="KubeRay says that there is no cluster")
    assert kind == "Warning"
    assert (
        message
        == "RayCluster ray/nosuch set in the clusterSelector is not found. It must be created manually"
    )
    assert (await ray.status(name))["jobDeploymentStatus"] == "Initializing"


async def test_deadlines_count_from_the_start_of_the_rayjob(ray):
    manifest = ray.rayjob("late", "true", entrypointResources='{"nowhere": 1}', activeDeadlineSeconds=3)
    name = (await ray.create(manifest))["metadata"]["name"]

    status = await ray.until_status(name, "Failed")

    assert status["reason"] == "DeadlineExceeded"
    assert status["message"].startswith("The RayJob has passed the activeDeadlineSeconds. StartTime: ")
    assert status["message"].endswith(". ActiveDeadlineSeconds: 3")


async def test_http_mode_submits_by_itself(ray):
    name = (await ray.create(ray.rayjob("http", "true", submissionMode="HTTPMode")))["metadata"]["name"]

    status = await ray.until_status(name, "Complete")

    assert status["jobStatus"] == "SUCCEEDED"
    assert await ray.find(JOBS, name) is None


async def test_interactive_mode_waits_for_an_id(ray):
    name = (await ray.create(ray.rayjob("hand", "true", submissionMode="InteractiveMode")))["metadata"][
        "name"
    ]
    await ray.until_status(name, "Waiting")

    job = await ray.submit("true")
    await ray.patch(RAYJOBS, name, {"spec": {"jobId": job}})

    status = await ray.until_status(name, "Complete")
    assert (status["jobId"], status["jobStatus"]) == (job, "SUCCEEDED")


async def test_a_queue_label_suspends_a_job_which_never_recovers(ray):
    manifest = ray.rayjob("queued")
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "ray"}
    made = await ray.create(manifest)
    name = made["metadata"]["name"]
    await ray.until_status(name, "ValidationFailed")

    await ray.patch(RAYJOBS, name, {"spec": {"suspend": False}})

    assert made["spec"]["suspend"] is True
    assert (await ray.status(name))["jobDeploymentStatus"] == "ValidationFailed"
