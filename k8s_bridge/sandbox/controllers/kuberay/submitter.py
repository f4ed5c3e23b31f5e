"""The submitter of a RayJob: the Job whose pod gives the entrypoint to Ray and follows its log. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

import yaml

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.api import owner_reference

CONTAINER = "ray-job-submitter"
_TRIES = 2
_RESOURCES = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}


def job(rayjob: Json, cluster: Json) -> Json:
    """The submitter Job of a RayJob."""
    meta, spec = rayjob["metadata"], rayjob["spec"]
    tries = (spec.get("submitterConfig") or {}).get("backoffLimit", _TRIES)
    return {
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": {
                "app.kubernetes.io/created-by": "kuberay-operator",
                "ray.io/originated-from-cr-name": meta["name"],
                "ray.io/originated-from-crd": "RayJob",
            },
            "ownerReferences": [owner_reference(rayjob)],
        },
        "spec": {"backoffLimit": tries, "template": _template(rayjob, cluster)},
    }


def _template(rayjob: Json, cluster: Json) -> Json:
    given = rayjob["spec"].get("submitterPodTemplate") or _default(cluster)
    first, *others = given["spec"]["containers"]
    status = rayjob["status"]
    if not first.get("command"):
        first = first | {"command": ["/bin/bash", "-ce", "--"], "args": [" ".join(_words(rayjob))]}
    environment = [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", "value": status["dashboardURL"]},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": status["jobId"]},
    ]
    first = first | {"env": [*(first.get("env") or ()), *environment]}
    return given | {"spec": given["spec"] | {"containers": [first, *others]}}


def _default(cluster: Json) -> Json:
    image = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0].get("image", "")
    container = {"name": CONTAINER, "image": image, "resources": _RESOURCES}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def _words(rayjob: Json) -> Iterator[str]:
    status = rayjob["status"]
    address, job_id = f"--address http://{status['dashboardURL']}", status["jobId"]
    yield f"if ! ray job status {address} {job_id} >/dev/null 2>&1 ; then"
    yield f"ray job submit {address} --no-wait"
    yield from _options(rayjob["spec"], job_id)
    yield f"-- {rayjob['spec'].get('entrypoint', '').strip()} ; fi ;"
    yield f"ray job logs {address} --follow {job_id}"


def _options(spec: Json, job_id: str) -> Iterator[str]:
    if environment := spec.get("runtimeEnvYAML"):
        yield f"--runtime-env-json {_quoted(_as_json(environment))}"
    yield f"--submission-id {job_id}"
    for option, field in (("cpus", "entrypointNumCpus"), ("gpus", "entrypointNumGpus")):
        if amount := spec.get(field):
            yield f"--entrypoint-num-{option} {amount:f}"
    if resources := spec.get("entrypointResources"):
        yield f"--entrypoint-resources {_quoted(resources)}"


def _as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(text), separators=(",", ":"), sort_keys=True)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def body(rayjob: Json) -> Json:
    """What KubeRay posts to the jobs API itself, in HTTPMode."""
    spec = rayjob["spec"]
    return {
        "entrypoint": spec.get("entrypoint", ""),
        "submission_id": rayjob["status"]["jobId"],
        "runtime_env": yaml.safe_load(spec.get("runtimeEnvYAML") or "{}"),
        "metadata": spec.get("metadata") or {},
        "entrypoint_num_cpus": spec.get("entrypointNumCpus", 0),
        "entrypoint_num_gpus": spec.get("entrypointNumGpus", 0),
        "entrypoint_resources": json.loads(spec.get("entrypointResources") or "{}"),
    }
