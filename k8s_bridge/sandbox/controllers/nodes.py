"""The life of nodes: ready while they have power; tainted, and their pods evicted, when they have not."""

from __future__ import annotations

from collections.abc import Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import Api, is_deleted, key_of
from k8s_bridge.sandbox.controllers.engine import Engine
from k8s_bridge.sandbox.controllers.kubelet import Kubelets
from k8s_bridge.sandbox.controllers.podspec import toleration_seconds
from k8s_bridge.sandbox.controllers.timing import Timing

UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_HEALTHY = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}
_SILENT = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
_DONE = ("Succeeded", "Failed")


class NodeLifecycle:
    """Keys are ("", node). Also the taint manager: NoExecute taints evict pods after their toleration."""

    name = "node-lifecycle"

    def __init__(self, api: Api, engine: Engine, kubelets: Kubelets, *, timing: Timing) -> None:
        self._api = api
        self._engine = engine
        self._kubelets = kubelets
        self._timing = timing
        self._dark_since: dict[str, float] = {}
        for node in api.storage.list(NODES):
            engine.add(self, key_of(node))
        api.storage.subscribe(NODES, self._node_changed)

    def _node_changed(self, change: Change, node: Json) -> None:
        after = self._timing.pod_gc if change is Change.DELETED else 0.0
        self._engine.add_later(self, key_of(node), after=after)

    async def power_off(self, name: str) -> None:
        """Cut the power: processes die now, the control plane learns of it after `node_grace`."""
        self._dark_since[name] = self._api.now
        await self._kubelets.power_off(name)
        self._engine.add(self, ("", name))

    def power_on(self, name: str) -> None:
        """Give the power back."""
        self._dark_since.pop(name, None)
        self._kubelets.power_on(name)
        self._engine.add(self, ("", name))

    def reconcile(self, key: Key) -> float | None:
        """Conditions and taints first, then the pods."""
        node = self._api.storage.find(NODES, *key)
        if node is None:
            self._collect(key[1])
            return None
        dark = self._dark_since.get(key[1])
        left = dark + self._timing.node_grace - self._api.now if dark is not None else 0.0
        if dark is not None and left > 0:
            return left
        node = self._set_conditions(node, silent=dark is not None)
        node = self._set_taints(node, silent=dark is not None)
        return self._evict(node) if dark is not None else None

    def _collect(self, name: str) -> None:
        """What PodGC does about pods of a node that is no more: nobody will ever report their end."""
        for pod in self._api.storage.list(PODS, field_selector=f"spec.nodeName={name}"):
            if pod["status"]["phase"] not in _DONE:
                condition = _disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists")
                pod = self._set(pod, condition, phase="Failed")  # noqa: PLW2901 - its newest version
            self._api.delete(PODS, pod, grace_seconds=0)

    def _set_conditions(self, node: Json, *, silent: bool) -> Json:
        known = list((node.get("status") or {}).get("conditions") or ())
        for type_, healthy in _HEALTHY.items():
            value, reason, message = _SILENT if silent else healthy
            condition = {"type": type_, "status": value, "reason": reason, "message": message}
            known = conditions.with_set(known, condition, now=self._api.stamp)
        was_ready = conditions.is_true(node, "Ready")
        node = self._api.set_status(NODES, node, (node.get("status") or {}) | {"conditions": known})
        if silent and was_ready:
            text = f"Node {node['metadata']['name']} status is now: NodeNotReady"
            self._api.event(node, "NodeNotReady", text, source="node-controller")
        return node

    def _set_taints(self, node: Json, *, silent: bool) -> Json:
        spec = node.get("spec") or {}
        have = list(spec.get("taints") or ())
        wanted = [(UNSCHEDULABLE, "NoSchedule")] if spec.get("unschedulable") else []
        wanted += [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")] if silent else []
        own = [t for t in have if t["key"] in (UNREACHABLE, UNSCHEDULABLE)]
        stale = [t for t in own if (t["key"], t["effect"]) not in wanted]
        if stale:
            node = self._write_taints(node, [t for t in have if t not in stale])
        for pair in wanted:  # one write for each, as the two parts of the real controller do
            if pair not in [(t["key"], t["effect"]) for t in own]:
                present = node["spec"].get("taints") or []
                node = self._write_taints(node, [*present, self._taint(*pair)])
        return node

    def _write_taints(self, node: Json, taints: list[Json]) -> Json:
        rest = {k: v for k, v in (node.get("spec") or {}).items() if k != "taints"}
        return self._api.replace(NODES, node | {"spec": rest | ({"taints": taints} if taints else {})})

    def _taint(self, key: str, effect: str) -> Json:
        return {"key": key, "effect": effect, "timeAdded": self._api.stamp}

    def _evict(self, node: Json) -> float | None:
        """Mark the node's pods unready; delete those whose toleration has run out."""
        name = node["metadata"]["name"]
        taint = next(t for t in node["spec"]["taints"] if t["effect"] == "NoExecute")
        since = parse_stamp(taint["timeAdded"]).timestamp()
        waits: list[float] = []
        for pod in self._api.storage.list(PODS, field_selector=f"spec.nodeName={name}"):
            if pod["status"]["phase"] in _DONE or is_deleted(pod):
                continue
            pod = self._mark_unready(pod)  # noqa: PLW2901 - the newest version of the same pod
            stay = toleration_seconds(pod["spec"], taint, default=self._timing.toleration)
            if stay is not None and self._api.now >= since + stay:
                self._delete(pod)
            elif stay is not None:
                waits.append(since + stay - self._api.now)
        return min(waits, default=None)

    def _mark_unready(self, pod: Json) -> Json:
        ready = conditions.find(pod, "Ready")
        if ready is None or ready["status"] != "True":
            return pod
        self._api.event(pod, "NodeNotReady", "Node is not ready", source="node-controller", warning=True)
        return self._set(pod, ready | {"status": "False"})

    def _set(self, pod: Json, condition: Json, **fields: str) -> Json:
        bare = {k: v for k, v in condition.items() if k != "lastTransitionTime"}
        known = conditions.with_set(pod["status"]["conditions"], bare, now=self._api.stamp)
        return self._api.set_status(PODS, pod, pod["status"] | {"conditions": known} | fields)

    def _delete(self, pod: Json) -> None:
        namespace, name = key_of(pod)
        text = f"Marking for deletion Pod {namespace}/{name}"
        self._api.event(pod, "TaintManagerEviction", text, source="taint-eviction-controller")
        why = "Taint manager: deleting due to NoExecute taint"
        self._api.delete(PODS, self._set(pod, _disrupted(pod, "DeletionByTaintManager", why)))


def _disrupted(pod: Json, reason: str, message: str) -> Json:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "lastProbeTime": None,
    }


def node_manifest(
    name: str, resources: Mapping[str, str], *, labels: Mapping[str, str] | None = None
) -> Json:
    """A Node as its kubelet registers it; `resources` are its allocatable, extended resources among them."""
    offered = {"pods": "110", **resources}
    return {
        "apiVersion": "v1",
        "kind": NODES.kind,
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {},
        "status": {"capacity": offered, "allocatable": offered},
    }
