"""Jobs: defaults, the pods they want, and what became of those pods. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.api import is_deleted, owner_reference

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


def with_defaults(new: Json, old: Json | None) -> Json:
    """What the API server fills in when a Job is created."""
    if old is not None:
        return new
    spec = new["spec"]
    uid, name = new["metadata"]["uid"], new["metadata"]["name"]
    marks = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    parallelism = spec.get("parallelism", 1)
    defaults = {
        "parallelism": parallelism,
        "completions": spec.get("completions", parallelism),
        "backoffLimit": spec.get("backoffLimit", 6),
        "completionMode": spec.get("completionMode", "NonIndexed"),
        "suspend": bool(spec.get("suspend")),
        "podReplacementPolicy": spec.get("podReplacementPolicy")
        or ("Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"),
        "manualSelector": False,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
        "template": _with_pod_defaults(spec["template"], marks),
    }
    return new | {"spec": spec | defaults}


def _with_pod_defaults(template: Json, marks: dict[str, str]) -> Json:
    metadata, spec = template.get("metadata") or {}, template["spec"]
    labels = (metadata.get("labels") or {}) | marks
    defaults = {
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
    containers = [
        {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        }
        | container
        for container in spec["containers"]
    ]
    return {"metadata": metadata | {"labels": labels}, "spec": defaults | spec | {"containers": containers}}


def is_indexed(job: Json) -> bool:
    """Whether each pod has an index of its own."""
    return bool(job["spec"]["completionMode"] == "Indexed")


def index_of(pod: Json) -> int:
    """The completion index of a pod of an Indexed Job."""
    return int(pod["metadata"]["labels"].get(INDEX, "0"))


def pod(job: Json, index: int) -> Json:
    """A new pod of the Job; the API server completes its name."""
    template = job["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels, annotations = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
    spec = dict(template["spec"])
    name = f"{job['metadata']['name']}-"
    if _JOBSET_NAME in labels:
        labels["jobset.sigs.k8s.io/priority"] = "0"
    if is_indexed(job):
        labels[INDEX] = annotations[INDEX] = str(index)
        spec["hostname"] = f"{name}{index}"
        spec["containers"] = [_with_index(c) for c in spec["containers"]]
        name = f"{name}{index}-"
    return {
        "metadata": {
            "generateName": name,
            "namespace": job["metadata"]["namespace"],
            "labels": labels,
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [owner_reference(job)],
            "finalizers": [TRACKING],
        },
        "spec": spec,
    }


def _with_index(container: Json) -> Json:
    path = f"metadata.labels['{INDEX}']"
    entry = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}},
    }
    return container | {"env": [*(container.get("env") or ()), entry]}


def phase(pod_: Json) -> str:
    """The pod's phase."""
    return str((pod_.get("status") or {}).get("phase", "Pending"))


def is_tracked(pod_: Json) -> bool:
    """Whether the Job has not counted this pod yet."""
    return TRACKING in (pod_["metadata"].get("finalizers") or ())


def is_active(pod_: Json) -> bool:
    """Whether the pod runs or is going to."""
    return phase(pod_) not in ("Succeeded", "Failed") and not is_deleted(pod_)


def is_ready(pod_: Json) -> bool:
    """Whether the pod is Ready."""
    found = (pod_.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in found)


def finished_at(pod_: Json) -> str:
    """When the pod's main container ended (metav1.Time), or when it was deleted."""
    for container in (pod_.get("status") or {}).get("containerStatuses") or ():
        ended = container["state"].get("terminated")
        if ended:
            return str(ended["finishedAt"])
    return str(pod_["metadata"].get("deletionTimestamp", ""))


def exit_code(pod_: Json) -> int | None:
    """The exit code of the pod's main container, if it has ended."""
    for container in (pod_.get("status") or {}).get("containerStatuses") or ():
        ended = container["state"].get("terminated")
        if ended:
            return int(ended["exitCode"])
    return None


def indexes_text(indexes: Iterable[int]) -> str:
    """Indexes as the API writes them: "0,3-5,7"."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def parse_indexes(text: str) -> set[int]:
    """The reverse of `indexes_text`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class Action:
    """What a podFailurePolicy makes of a failed pod."""

    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"
    COUNT = "Count"


def failure_action(job: Json, pod_: Json) -> tuple[str, str]:
    """(action, why) for a failed pod; a Job without a policy counts all failures."""
    rules: Sequence[Mapping[str, Any]] = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    name = f"{pod_['metadata']['namespace']}/{pod_['metadata']['name']}"
    for number, rule in enumerate(rules):
        if rule.get("onPodConditions") and (type_ := _matching_condition(rule["onPodConditions"], pod_)):
            text = f"Pod {name} has condition {type_} matching {rule['action']} rule at index {number}"
            return str(rule["action"]), text
        if rule.get("onExitCodes") and _matches_exit(rule["onExitCodes"], exit_code(pod_)):
            container = pod_["spec"]["containers"][0]["name"]
            text = (
                f"Container {container} for pod {name} failed with exit code {exit_code(pod_)} "
                f"matching {rule['action']} rule at index {number}"
            )
            return str(rule["action"]), text
    return Action.COUNT, ""


def _matching_condition(patterns: Iterable[Mapping[str, str]], pod_: Json) -> str:
    have = {(c["type"], c["status"]) for c in (pod_.get("status") or {}).get("conditions") or ()}
    return next((p["type"] for p in patterns if (p["type"], p.get("status", "True")) in have), "")


def _matches_exit(requirement: Mapping[str, Any], code: int | None) -> bool:
    if not code:
        return False
    return (code in requirement["values"]) is (requirement["operator"] == "In")
