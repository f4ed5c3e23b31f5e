"""Binds pods to nodes; those that fit nowhere are tried again when something changes."""

from __future__ import annotations

from collections import Counter

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers import conditions
from k8s_bridge.sandbox.controllers.api import Api, is_deleted, key_of
from k8s_bridge.sandbox.controllers.engine import Engine
from k8s_bridge.sandbox.controllers.podspec import requests
from k8s_bridge.sandbox.controllers.quantity import Amounts
from k8s_bridge.sandbox.controllers.scheduler_fit import choose

SOURCE = "default-scheduler"
_GATED = "Scheduling is blocked due to non-empty scheduling gates"
_DONE = ("Succeeded", "Failed")


class Placed:
    """Which unfinished pods are on which node, and what they ask for together; kept by subscription."""

    def __init__(self, api: Api) -> None:
        self.used: dict[str, Amounts] = {}
        self.pods: dict[str, dict[Key, Json]] = {}
        for pod in api.storage.list(PODS):
            self.changed(Change.ADDED, pod)
        api.storage.subscribe(PODS, self.changed)

    def changed(self, change: Change, pod: Json) -> None:
        """Take in a pod's newest version."""
        node = pod["spec"].get("nodeName")
        if not node:
            return
        here, used = self.pods.setdefault(node, {}), self.used.setdefault(node, Counter())
        old = here.pop(key_of(pod), None)
        if old is not None:
            used.subtract(_size(old))
        if change is not Change.DELETED and pod["status"]["phase"] not in _DONE:
            here[key_of(pod)] = pod
            used.update(_size(pod))


def _size(pod: Json) -> Amounts:
    size = requests(pod["spec"])
    size["pods"] = 1
    return size


class Scheduler:
    """One pod at a time."""

    name = "scheduler"

    def __init__(self, api: Api, engine: Engine, placed: Placed) -> None:
        self._api = api
        self._engine = engine
        self._placed = placed
        self._unschedulable: dict[Key, None] = {}
        api.storage.subscribe(PODS, self._pod_changed)
        api.storage.subscribe(NODES, lambda _change, _obj: self._try_again())

    def _pod_changed(self, change: Change, pod: Json) -> None:
        if pod["spec"].get("nodeName"):
            if change is Change.DELETED or pod["status"]["phase"] in _DONE:
                self._try_again()
        elif change is Change.DELETED:
            self._unschedulable.pop(key_of(pod), None)
        elif key_of(pod) not in self._unschedulable:
            self._engine.add(self, key_of(pod))

    def _try_again(self) -> None:
        waiting, self._unschedulable = self._unschedulable, {}
        for key in waiting:
            self._engine.add(self, key)

    def reconcile(self, key: Key) -> float | None:
        """Bind the pod, or say why not."""
        pod = self._api.storage.find(PODS, *key)
        if pod is None or is_deleted(pod) or pod["spec"].get("nodeName"):
            return None
        if pod["spec"].get("schedulingGates"):
            self._say(pod, reason="SchedulingGated", message=_GATED)
            return None
        nodes = self._api.storage.list(NODES)
        node, why = choose(pod, nodes, self._placed.used, self._placed.pods)
        if node:
            self._bind(pod, node)
        else:
            self._unschedulable[key] = None
            self._say(pod, reason="Unschedulable", message=why)
            self._api.event(pod, "FailedScheduling", why, source=SOURCE, warning=True)
        return None

    def _bind(self, pod: Json, node: str) -> None:
        bound = self._api.replace(PODS, pod | {"spec": pod["spec"] | {"nodeName": node}})
        condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        self._set(bound, condition)
        namespace, name = key_of(pod)
        text = f"Successfully assigned {namespace}/{name} to {node}"
        self._api.event(bound, "Scheduled", text, source=SOURCE)

    def _say(self, pod: Json, *, reason: str, message: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        self._set(pod, condition | {"lastProbeTime": None})

    def _set(self, pod: Json, condition: Json) -> None:
        status = dict(pod["status"])
        known = status.get("conditions") or ()
        status["conditions"] = conditions.with_set(known, condition, now=self._api.stamp)
        self._api.set_status(PODS, pod, status)
