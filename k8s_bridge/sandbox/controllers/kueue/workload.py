"""Workload objects: how Kueue names and fills them for a job, and how it reads them back. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import key_of, owner_reference
from k8s_bridge.sandbox.controllers.kueue.assign import Assignment, PodSetAssignment
from k8s_bridge.sandbox.controllers.kueue.model import PodSet, TopologyRequest, Usage, Workload
from k8s_bridge.sandbox.controllers.kueue.topology import assignment as topology_assignment
from k8s_bridge.sandbox.controllers.kueue.transitions import EVICTED
from k8s_bridge.sandbox.controllers.podspec import requests
from k8s_bridge.sandbox.controllers.quantity import Amounts, amounts, texts

FINALIZER = "kueue.x-k8s.io/resource-in-use"
JOB_UID = "kueue.x-k8s.io/job-uid"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY = "kueue.x-k8s.io/podset-unconstrained-topology"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_LONGEST_PREFIX = 57
_ARRIVAL = 1e-6  # seconds between two arrivals: small, and still told apart by a float of this size


def name_for(owner: Mapping[str, Any]) -> str:
    """`<kind>-<name>-<hash>`, the same for the same owner."""
    group = owner["apiVersion"].rpartition("/")[0]
    meta = owner["metadata"]
    seed = "\n".join((owner["kind"], group, meta["name"], meta["uid"]))
    digest = hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()[:5]
    return f"{owner['kind'].lower()}-{meta['name']}"[:_LONGEST_PREFIX] + f"-{digest}"


def build(owner: Mapping[str, Any], pod_sets: list[Json], *, priority: int, priority_class: str) -> Json:
    """The Workload of a job."""
    meta = owner["metadata"]
    labels = meta.get("labels") or {}
    spec: Json = {
        "active": True,
        "podSets": pod_sets,
        "queueName": labels[QUEUE_NAME],
        "priority": priority,
    }
    if priority_class:
        spec["priorityClassRef"] = class_reference(priority_class)
    if labels.get(MAX_EXEC_TIME):
        spec["maximumExecutionTimeSeconds"] = int(labels[MAX_EXEC_TIME])
    return {
        "metadata": {
            "name": name_for(owner),
            "namespace": meta["namespace"],
            "labels": {JOB_UID: meta["uid"]},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": spec,
    }


def class_reference(name: str) -> Json:
    """A reference to a WorkloadPriorityClass."""
    return {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}


def pod_set(
    name: str,
    count: int,
    template: Mapping[str, Any],
    *,
    topology: Json | None = None,
    index_label: str = INDEX_LABEL,
) -> Json:
    """One entry of spec.podSets.

    `topology` is what the kind of job adds to the topologyRequest; `index_label` tells its pods apart.
    """
    metadata = template.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    request: Json = ({"podIndexLabel": index_label} if index_label else {}) | (topology or {})
    for annotation, field in ((REQUIRED_TOPOLOGY, "required"), (PREFERRED_TOPOLOGY, "preferred")):
        if annotation in annotations:
            request[field] = annotations[annotation]
    if annotations.get(UNCONSTRAINED_TOPOLOGY) == "true":
        request["unconstrained"] = True
    return {
        "name": name,
        "count": count,
        "template": {"metadata": metadata, "spec": template["spec"]},
        **({"topologyRequest": request} if request else {}),
    }


def parse(obj: Json, *, arrival: int) -> Workload:
    """What queueing needs of a Workload object. `arrival` orders those created within one second."""
    spec, meta = obj["spec"], obj["metadata"]
    evicted = conditions.find(obj, EVICTED)
    since = parse_stamp(meta["creationTimestamp"]).timestamp() + arrival * _ARRIVAL
    if evicted and evicted["status"] == "True" and evicted["reason"] == "AdmissionCheck":
        since = parse_stamp(evicted["lastTransitionTime"]).timestamp() + arrival * _ARRIVAL
    return Workload(
        key=key_of(obj),
        uid=meta["uid"],
        job_uid=(meta.get("labels") or {}).get(JOB_UID, ""),
        priority=int(spec.get("priority") or 0),
        since=since,
        queue=(meta["namespace"], spec.get("queueName", "")),
        pod_sets=tuple(_parse_pod_set(p, ended=reclaimed(obj)) for p in spec.get("podSets") or ()),
    )


def reclaimed(obj: Json) -> dict[str, int]:
    """By pod set, how many pods have ended for good and need no quota any more."""
    entries = (obj.get("status") or {}).get("reclaimablePods") or ()
    return {entry["name"]: int(entry["count"]) for entry in entries}


def _parse_pod_set(entry: Json, *, ended: Mapping[str, int]) -> PodSet:
    request = entry.get("topologyRequest") or {}
    spec = entry["template"].get("spec") or {}
    return PodSet(
        name=entry.get("name", "main"),
        count=int(entry.get("count", 1)) - ended.get(entry.get("name", "main"), 0),
        unit=requests(spec),
        spec=spec,
        topology=TopologyRequest(
            required=request.get("required", ""),
            preferred=request.get("preferred", ""),
            unconstrained=bool(request.get("unconstrained")),
        ),
    )


def admission(queue: str, assigned: Assignment) -> Json:
    """The status.admission of an assignment."""
    return {"clusterQueue": queue, "podSetAssignments": [_assignment(p) for p in assigned.pod_sets]}


def _assignment(pods: PodSetAssignment) -> Json:
    entry: Json = {
        "name": pods.name,
        "count": pods.count,
        "flavors": dict(pods.flavors),
        "resourceUsage": texts(pods.total),
    }
    if pods.placement:
        entry["topologyAssignment"] = topology_assignment(pods.placement)
    return entry


def usage(obj: Json) -> Usage:
    """The quota that a Workload holds by its status.admission, without that of pods that have ended."""
    total: dict[tuple[str, str], int] = {}
    whole = {p.get("name", "main"): int(p.get("count", 1)) for p in obj["spec"]["podSets"]}
    ended = reclaimed(obj)
    for pods in obj["status"]["admission"]["podSetAssignments"]:
        name, count = pods["name"], int(pods["count"])
        left = min(count, whole[name] - ended.get(name, 0))
        used: Amounts = amounts(pods.get("resourceUsage") or {})
        for resource, flavor in (pods.get("flavors") or {}).items():
            share = used[resource] * left // count if count else 0
            total[flavor, resource] = total.get((flavor, resource), 0) + share
    return total


def resource_requests(workload: Workload) -> list[Json]:
    """The status.resourceRequests of a Workload that waits."""
    return [
        {"name": p.name, "resources": texts({r: n * p.count for r, n in p.unit.items()})}
        for p in workload.pod_sets
    ]
