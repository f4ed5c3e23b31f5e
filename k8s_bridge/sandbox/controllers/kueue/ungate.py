"""Takes the topology gate off pods and sends each to its host."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import PODS, WORKLOADS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.api import Api, is_deleted
from k8s_bridge.sandbox.controllers.kueue.templates import TOPOLOGY_GATE, WORKLOAD
from k8s_bridge.sandbox.controllers.kueue.topology import hosts
from k8s_bridge.sandbox.controllers.kueue.workload import INDEX_LABEL

_JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_POD_SET = "kueue.x-k8s.io/podset"


def is_gated(pod: Json) -> bool:
    """Whether the pod waits for its host."""
    return any(g["name"] == TOPOLOGY_GATE for g in pod["spec"].get("schedulingGates") or ())


class Ungater:
    """One pod at a time; its index decides its host, so a replacement goes where its forerunner was."""

    name = "kueue-ungater"

    def __init__(self, api: Api) -> None:
        self._api = api

    def reconcile(self, key: Key) -> float | None:
        """Ungate the pod if its Workload is assigned."""
        pod = self._api.storage.find(PODS, *key)
        if pod is None or is_deleted(pod) or not is_gated(pod):
            return None
        name = (pod["metadata"].get("annotations") or {}).get(WORKLOAD, "")
        found = self._api.storage.find(WORKLOADS, key[0], name)
        selector = self._host(pod, found) if found else None
        if selector is not None:
            self._send(pod, selector)
        return None

    def _host(self, pod: Json, found: Json) -> dict[str, str] | None:
        labels = pod["metadata"].get("labels") or {}
        admission = (found.get("status") or {}).get("admission") or {}
        for assigned in admission.get("podSetAssignments") or ():
            if assigned["name"] == labels.get(_POD_SET) and "topologyAssignment" in assigned:
                places = hosts(assigned["topologyAssignment"])
                jobs = _replicas(found, assigned["name"])
                rank = int(labels.get(INDEX_LABEL, 0)) + int(labels.get(_JOB_INDEX, 0)) * (
                    len(places) // jobs
                )
                return places[rank] if rank < len(places) else None
        return None

    def _send(self, pod: Json, selector: dict[str, str]) -> None:
        gates = [g for g in pod["spec"]["schedulingGates"] if g["name"] != TOPOLOGY_GATE]
        spec = pod["spec"] | {"nodeSelector": (pod["spec"].get("nodeSelector") or {}) | selector}
        if gates:
            spec["schedulingGates"] = gates
        else:
            del spec["schedulingGates"]
        self._api.replace(PODS, pod | {"spec": spec})


def _replicas(found: Json, pod_set: str) -> int:
    for entry in found["spec"]["podSets"]:
        if entry["name"] == pod_set:
            return int((entry.get("topologyRequest") or {}).get("subGroupCount") or 1)
    return 1
