"""JobSets: defaults, the Jobs they want, and what those Jobs add up to. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import owner_reference

GROUP = "jobset.sigs.k8s.io"
REPLICATED_JOB = f"{GROUP}/replicatedjob-name"
RESTART_ATTEMPT = f"{GROUP}/restart-attempt"
JOBSET_NAME = f"{GROUP}/jobset-name"


def with_defaults(new: Json, old: Json | None) -> Json:
    """What the JobSet webhook fills in."""
    if old is not None and new["spec"] == old["spec"]:
        return new
    spec = new["spec"]
    defaults: Json = {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
        | (spec.get("network") or {}),
        "startupPolicy": spec.get("startupPolicy") or {"startupPolicyOrder": "AnyOrder"},
        "successPolicy": {"operator": "All"} | (spec.get("successPolicy") or {}),
        "suspend": bool(spec.get("suspend")),
        "replicatedJobs": [_with_job_defaults(r) for r in spec.get("replicatedJobs") or ()],
    }
    if "failurePolicy" in spec:
        defaults["failurePolicy"] = {"maxRestarts": 0, "restartStrategy": "Recreate"} | spec["failurePolicy"]
    return new | {"spec": spec | defaults}


def _with_job_defaults(replicated: Json) -> Json:
    template = replicated["template"]
    spec = {"completionMode": "Indexed"} | template["spec"]
    pods = spec["template"]
    pods = {"metadata": {}} | pods | {"spec": {"restartPolicy": "OnFailure"} | pods["spec"]}
    template = {"metadata": {}} | template | {"spec": spec | {"template": pods}}
    return {"groupName": "default", "replicas": 1} | replicated | {"template": template}


def jobs(jobset: Json, *, attempt: int) -> Iterator[Json]:
    """All Jobs that the JobSet wants, in order."""
    replicated = jobset["spec"]["replicatedJobs"]
    total = sum(r["replicas"] for r in replicated)
    start = 0
    for entry in replicated:
        for index in range(entry["replicas"]):
            marks = _marks(jobset, entry, index, attempt=attempt, total=total, position=start + index)
            yield _job(jobset, entry, f"{jobset['metadata']['name']}-{entry['name']}-{index}", marks)
        start += entry["replicas"]


def _marks(  # noqa: PLR0913 - the numbers that the labels tell
    jobset: Json, entry: Json, index: int, *, attempt: int, total: int, position: int
) -> dict[str, str]:
    meta = jobset["metadata"]
    name = f"{meta['name']}-{entry['name']}-{index}"
    key = hashlib.sha1(f"{meta['namespace']}/{name}".encode(), usedforsecurity=False).hexdigest()
    group = [r for r in jobset["spec"]["replicatedJobs"] if r["groupName"] == entry["groupName"]]
    before = sum(r["replicas"] for r in group[: group.index(entry)])
    facts = {
        "global-replicas": total,
        "group-name": entry["groupName"],
        "group-replicas": sum(r["replicas"] for r in group),
        "job-global-index": position,
        "job-group-index": before + index,
        "job-index": index,
        "job-key": key,
        "jobset-name": meta["name"],
        "jobset-uid": meta["uid"],
        "replicatedjob-name": entry["name"],
        "replicatedjob-replicas": entry["replicas"],
        "restart-attempt": attempt,
    }
    return {f"{GROUP}/{fact}": str(value) for fact, value in facts.items()}


def _job(jobset: Json, entry: Json, name: str, marks: dict[str, str]) -> Json:
    template = entry["template"]
    return {
        "metadata": {
            "name": name,
            "namespace": jobset["metadata"]["namespace"],
            "labels": {**_own(template, "labels"), **marks},
            "annotations": {**_own(template, "annotations"), **marks},
            "ownerReferences": [owner_reference(jobset)],
        },
        "spec": template["spec"]
        | {
            "suspend": jobset["spec"]["suspend"],
            "template": pod_template(jobset, entry, marks),
        },
    }


def pod_template(jobset: Json, entry: Json, marks: dict[str, str]) -> Json:
    """The pod template of a Job, with the JobSet's marks and subdomain."""
    pods = entry["template"]["spec"]["template"]
    metadata = pods.get("metadata") or {}
    network = jobset["spec"]["network"]
    spec = dict(pods["spec"])
    if network["enableDNSHostnames"]:
        spec["subdomain"] = network.get("subdomain") or jobset["metadata"]["name"]
    return {
        "metadata": metadata
        | {
            "labels": (metadata.get("labels") or {}) | marks,
            "annotations": (metadata.get("annotations") or {}) | marks,
        },
        "spec": spec,
    }


def marks_of(job: Json) -> dict[str, str]:
    """The JobSet's labels on a Job."""
    return {k: v for k, v in job["metadata"]["labels"].items() if k.startswith(f"{GROUP}/")}


def _own(template: Mapping[str, Any], key: str) -> dict[str, str]:
    return (template.get("metadata") or {}).get(key) or {}


def is_finished(obj: Json) -> bool:
    """Whether a Job or JobSet has ended, well or not."""
    return any(conditions.is_true(obj, type_) for type_ in ("Complete", "Completed", "Failed"))


def replicated_status(jobset: Json, children: Sequence[Json]) -> list[Json]:
    """status.replicatedJobsStatus of the current Jobs."""
    return [
        {
            "name": r["name"],
            **_count([j for j in children if j["metadata"]["labels"][REPLICATED_JOB] == r["name"]]),
        }
        for r in jobset["spec"]["replicatedJobs"]
    ]


def _count(children: Iterable[Json]) -> dict[str, int]:
    total = dict.fromkeys(("active", "failed", "ready", "succeeded", "suspended"), 0)
    for job in children:
        status = job.get("status") or {}
        if conditions.is_true(job, "Complete"):
            total["succeeded"] += 1
        elif conditions.is_true(job, "Failed"):
            total["failed"] += 1
        else:
            wanted = min(job["spec"].get("parallelism", 1), job["spec"].get("completions") or 1)
            done = status.get("succeeded", 0)
            total["active"] += bool(status.get("active"))
            total["ready"] += status.get("ready", 0) + done >= wanted
            total["suspended"] += conditions.is_true(job, "Suspended") and bool(job["spec"].get("suspend"))
    return total


def has_succeeded(jobset: Json, children: Sequence[Json]) -> bool:
    """Whether the success policy is met."""
    policy = jobset["spec"]["successPolicy"]
    chosen = set(policy.get("targetReplicatedJobs") or [r["name"] for r in jobset["spec"]["replicatedJobs"]])
    mine = [j for j in children if j["metadata"]["labels"][REPLICATED_JOB] in chosen]
    done = [conditions.is_true(j, "Complete") for j in mine]
    if policy["operator"] == "Any":
        return any(done)
    wanted = sum(r["replicas"] for r in jobset["spec"]["replicatedJobs"] if r["name"] in chosen)
    return bool(done) and len(done) == wanted and all(done)
