"""The pod templates of a Workload: as its user gave them, and with what its admission adds. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.kueue.model import Flavor

TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
WORKLOAD = "kueue.x-k8s.io/workload"
_CLUSTER_QUEUE = "kueue.x-k8s.io/cluster-queue-name"
_LOCAL_QUEUE = "kueue.x-k8s.io/local-queue-name"
_POD_SET = "kueue.x-k8s.io/podset"


def original_templates(workload: Json) -> dict[str, Json]:
    """The pod templates as the user gave them, by pod set."""
    return {p["name"]: p["template"] for p in workload["spec"]["podSets"]}


def admitted_templates(workload: Json, flavors: Mapping[str, Flavor]) -> dict[str, Json]:
    """The pod templates as an admitted Workload wants them, by pod set."""
    assigned = {a["name"]: a for a in workload["status"]["admission"]["podSetAssignments"]}
    return {
        p["name"]: _admitted(p["template"], assigned[p["name"]], workload, flavors)
        for p in workload["spec"]["podSets"]
    }


def _admitted(template: Json, assigned: Json, workload: Json, flavors: Mapping[str, Flavor]) -> Json:
    used = [flavors[name] for name in sorted(set(assigned["flavors"].values())) if name in flavors]
    spec = dict(template["spec"])
    if labels := {k: v for f in used for k, v in f.labels.items()}:
        spec["nodeSelector"] = (spec.get("nodeSelector") or {}) | labels
    if tolerations := [t for f in used for t in f.tolerations]:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerations]
    if "topologyAssignment" in assigned:
        spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": TOPOLOGY_GATE}]
    metadata = template.get("metadata") or {}
    marks = {
        _CLUSTER_QUEUE: workload["status"]["admission"]["clusterQueue"],
        _LOCAL_QUEUE: workload["spec"]["queueName"],
        _POD_SET: assigned["name"],
    }
    return template | {
        "metadata": metadata
        | {
            "labels": (metadata.get("labels") or {}) | marks,
            "annotations": (metadata.get("annotations") or {}) | {WORKLOAD: workload["metadata"]["name"]},
        },
        "spec": spec,
    }
