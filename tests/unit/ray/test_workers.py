"""The workers of a job: made like those of the shared cluster, and taken for theirs by nobody."""

from __future__ import annotations

import json
import shlex

import pytest

from api.v1alpha1.ray import RayWorker
from bench import ray_units as make
from k8s_bridge.core import naming
from k8s_bridge.ray import names
from k8s_bridge.ray.request import Request, request_of
from k8s_bridge.ray.workers import Like, Owner, like_of, render_workers, shape_of

GROUP = {
    "groupName": "gpu",
    "rayStartParams": {"object-store-memory": "1000", "num-cpus": "64", "block": "true"},
    "template": {
        "metadata": {
            "labels": {"team": "a", "ray.io/cluster": "shared", "kueue.x-k8s.io/podset": "gpu"},
            "annotations": {"kueue.x-k8s.io/workload": "raycluster-shared", "note": "kept"},
        },
        "spec": {
            "serviceAccountName": "ray",
            "tolerations": [{"key": "gpu"}],
            "nodeSelector": {"kind": "gpu"},
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [
                {
                    "name": "ray-worker",
                    "image": "ray:2",
                    "env": [
                        {"name": "RAY_USE_TLS", "value": "1"},
                        {"name": "RAY_CLOUD_INSTANCE_ID", "value": "x"},
                    ],
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    "resources": {"limits": {"cpu": "8"}},
                    "livenessProbe": {"exec": {}},
                }
            ],
        },
    },
}


def like(**spec) -> Like:
    found = like_of(make.cluster(**spec))
    assert found is not None
    return found


def request(**notes: str) -> Request:
    found = request_of(make.job(notes=notes), spec=make.SPEC)
    assert isinstance(found, Request)
    return found


def jobset(*, overlays=(), worker=None, cluster=None, **notes: str) -> dict:
    owner = Owner(mixing="main", worker=worker or RayWorker(), overlays=overlays)
    return render_workers(
        make.job(),
        request(**notes),
        like=cluster or like(workerGroupSpecs=[GROUP]),
        owner=owner,
        token="secret",
    )


def pods(manifest: dict) -> dict:
    (replicated,) = manifest["spec"]["replicatedJobs"]
    return replicated["template"]["spec"]["template"]


def container(manifest: dict) -> dict:
    (found,) = pods(manifest)["spec"]["containers"]
    return found


def started(manifest: dict) -> dict[str, str]:
    """Options of `ray start`."""
    (script,) = container(manifest)["args"]
    words = shlex.split(script.partition("exec ray start ")[2])
    return dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)


def test_a_worker_is_like_those_of_its_group():
    template = pods(jobset())

    assert template["spec"]["serviceAccountName"] == "ray"
    assert template["spec"]["tolerations"] == [{"key": "gpu"}]
    assert template["spec"]["nodeSelector"] == {"kind": "gpu"}
    assert template["spec"]["imagePullSecrets"] == [{"name": "pull"}]
    assert container(jobset())["image"] == "ray:2"
    assert {"name": "RAY_USE_TLS", "value": "1"} in container(jobset())["env"]
    assert {"name": "data", "mountPath": "/data"} in container(jobset())["volumeMounts"]
    assert started(jobset())["object-store-memory"] == "1000"


def test_neither_kuberay_nor_kueue_nor_the_autoscaler_takes_a_worker_for_its_own():
    meta = pods(jobset())["metadata"]

    assert meta["labels"]["team"] == "a"
    assert meta["annotations"] == {"note": "kept"}
    assert not [key for key in meta["labels"] if key.startswith(("ray.io/", "kueue.x-k8s.io/"))]
    assert "RAY_CLOUD_INSTANCE_ID" not in {one["name"] for one in container(jobset())["env"]}


def test_a_cluster_without_worker_groups_gives_its_heads_image_and_not_its_options():
    head = {
        "rayStartParams": {"dashboard-host": "0.0.0.0"},
        "template": {"spec": {"containers": [{"image": "ray:1"}]}},
    }
    manifest = jobset(cluster=like(headGroupSpec=head))

    assert container(manifest)["image"] == "ray:1"
    assert "dashboard-host" not in started(manifest)


def test_a_group_that_is_not_there_is_none():
    assert like_of(make.cluster(workerGroupSpecs=[GROUP]), group="cpu") is None
    assert like_of(make.cluster(workerGroupSpecs=[GROUP]), group="gpu") is not None


def test_a_worker_joins_the_head_with_what_it_was_given_and_with_the_pin():
    options = started(jobset(**{"worker-cpus": "1.5", "worker-memory": "2Gi", "worker-gpus": "1"}))

    assert options["address"] == "shared-head-svc.ray.svc.cluster.local:6379"
    assert options["num-cpus"] == "2"
    assert options["num-gpus"] == "1"
    assert options["memory"] == str(2 * 2**30)
    assert json.loads(options["resources"]) == {"ray-bridge-secret": 1}
    assert options["labels"] == "ray-bridge.x-k8s.io/job=secret"


def test_kueue_is_asked_for_exactly_what_a_worker_gets():
    resources = container(jobset(**{"worker-cpus": "0.5", "worker-memory": "3Gi", "worker-gpus": "2"}))[
        "resources"
    ]

    assert resources["requests"] == {"cpu": "500m", "memory": "3072Mi", "nvidia.com/gpu": "2"}
    assert resources["limits"] == resources["requests"]


def test_cpu_is_limited_only_where_the_groups_own_workers_are():
    manifest = jobset(cluster=like())

    assert "cpu" not in container(manifest)["resources"]["limits"]


def test_all_workers_are_asked_for_at_once_and_a_lost_one_is_replaced():
    manifest = jobset(workers="3", pool="urgent")
    (replicated,) = manifest["spec"]["replicatedJobs"]
    spec = replicated["template"]["spec"]

    assert manifest["spec"]["suspend"] is True
    assert (spec["parallelism"], spec["completions"], spec["completionMode"]) == (3, 3, "Indexed")
    assert spec["podFailurePolicy"]["rules"][0]["action"] == "Ignore"
    assert manifest["metadata"]["labels"][naming.QUEUE_NAME] == "fast"
    assert manifest["metadata"]["labels"][naming.PRIORITY_CLASS] == "high"


def test_the_rayjob_owns_its_workers_and_does_not_control_them():
    (owner,) = jobset()["metadata"]["ownerReferences"]

    assert owner["uid"] == make.KEY.uid
    assert not owner.get("controller")


def test_the_operators_templates_are_laid_over_by_name():
    overlay = {"spec": {"containers": [{"name": "ray-worker", "env": [{"name": "EXTRA", "value": "1"}]}]}}
    manifest = jobset(overlays=(overlay,))

    assert {"name": "EXTRA", "value": "1"} in container(manifest)["env"]
    assert {"name": "RAY_USE_TLS", "value": "1"} in container(manifest)["env"]


def test_a_cluster_that_wants_a_token_is_joined_with_it():
    env = container(jobset(cluster=like(authOptions={"mode": "token"})))["env"]

    (token,) = [one for one in env if one["name"] == "RAY_AUTH_TOKEN"]
    assert token["valueFrom"]["secretKeyRef"] == {"name": "shared", "key": "auth_token"}


@pytest.mark.parametrize(("given", "seconds"), [([], "600"), (["30"], "30")])
def test_a_worker_waits_for_a_fault_tolerant_head_as_long_as_kuberays_own_do(given, seconds):
    variable = "RAY_gcs_rpc_server_reconnect_timeout_s"
    main = {"name": "worker", "image": "ray:2", "env": [{"name": variable, "value": one} for one in given]}
    group = {"groupName": "g", "template": {"spec": {"containers": [main]}}}
    tolerant = like(workerGroupSpecs=[group], gcsFaultToleranceOptions={"redisAddress": "redis:6379"})

    env = container(jobset(cluster=tolerant))["env"]

    assert [one["value"] for one in env if one["name"] == variable] == [seconds]
    assert variable not in [one["name"] for one in container(jobset())["env"]]


def test_topology_is_asked_of_kueue():
    required = pods(jobset(**{"required-topology": "rack"}))["metadata"]["annotations"]
    preferred = pods(jobset(worker=RayWorker(preferred_topology="block")))["metadata"]["annotations"]

    assert required["kueue.x-k8s.io/podset-required-topology"] == "rack"
    assert preferred["kueue.x-k8s.io/podset-preferred-topology"] == "block"


@pytest.mark.parametrize("length", [1, 33, 34, 47, 200])
def test_a_long_name_keeps_its_pods_within_what_kubernetes_takes(length):
    name = names.jobset_name("j" * length)

    assert len(f"{name}-w-0-99999-abcde") <= 63
    assert name != names.jobset_name("j" * (length + 1))


def test_the_shape_tells_every_change_that_workers_depend_on():
    owner = Owner(mixing="main", worker=RayWorker())
    shapes = [
        shape_of(request(), like=like(), owner=owner),
        shape_of(request(workers="2"), like=like(), owner=owner),
        shape_of(request(), like=like(workerGroupSpecs=[GROUP]), owner=owner),
        shape_of(request(), like=like(), owner=Owner(mixing="main", worker=RayWorker(image="other"))),
        shape_of(
            request(), like=like(), owner=Owner(mixing="main", worker=RayWorker(), overlays=({"a": "b"},))
        ),
    ]

    assert len(set(shapes)) == len(shapes)
