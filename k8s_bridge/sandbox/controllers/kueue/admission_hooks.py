"""What Kueue's webhooks do to jobs and queues as they are created or changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import BY_KIND, JOBS, JOBSETS, LOCALQUEUES, RAYCLUSTERS, RAYJOBS
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers.kueue.adapters import ADMISSION_GATE
from k8s_bridge.sandbox.controllers.kueue.templates import TOPOLOGY_GATE
from k8s_bridge.sandbox.controllers.kueue.workload import MAX_EXEC_TIME, PRIORITY_CLASS, QUEUE_NAME
from k8s_bridge.sandbox.controllers.webhook import denied

MANAGED = "kueue.x-k8s.io/managed"
DEFAULT_QUEUE = "default"
_ROLE = "kueue.x-k8s.io/role-hash"
_IMMUTABLE = "field is immutable"
_JOBS_OF_KUEUE = (JOBS, JOBSETS, RAYCLUSTERS, RAYJOBS)
_NOT_OURS = ("kube-system", "kueue-system")


class Defaulter:
    """What Kueue's webhooks give to new jobs and pods, where a namespace has a LocalQueue `default`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def job(self, new: Json, old: Json | None) -> Json:
        """The queue `default` for a job that says none, and is no part of another kind of job."""
        if old is not None or _labels(new).get(QUEUE_NAME) or not self._has_default(new):
            return new
        return new if _controller(new) in {kind.kind for kind in _JOBS_OF_KUEUE} else _queued(new)

    def pod(self, new: Json, old: Json | None) -> Json:
        """A gate for a pod with a queue, its own or `default`, none of whose owners has one."""
        if old is not None or new["metadata"]["namespace"] in _NOT_OURS or self._is_of_queued(new):
            return new
        if not _labels(new).get(QUEUE_NAME):
            if not self._has_default(new):
                return new
            new = _queued(new)
        return _gated(new)

    def _has_default(self, obj: Json) -> bool:
        found = self._storage.find(LOCALQUEUES, obj["metadata"].get("namespace", ""), DEFAULT_QUEUE)
        return found is not None

    def _is_of_queued(self, obj: Json) -> bool:
        for owner in obj["metadata"].get("ownerReferences") or ():
            kind = BY_KIND.get((owner["apiVersion"], owner["kind"]))
            if not owner.get("controller") or kind not in _JOBS_OF_KUEUE:
                continue
            parent = self._storage.find(kind, obj["metadata"]["namespace"], owner["name"])
            if parent is not None and (_labels(parent).get(QUEUE_NAME) or self._is_of_queued(parent)):
                return True
        return False


def _controller(obj: Json) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((str(owner["kind"]) for owner in owners if owner.get("controller")), "")


def _queued(obj: Json) -> Json:
    return obj | {"metadata": obj["metadata"] | {"labels": _labels(obj) | {QUEUE_NAME: DEFAULT_QUEUE}}}


def _gated(pod: Json) -> Json:
    meta, spec = pod["metadata"], pod["spec"]
    gates = [*(spec.get("schedulingGates") or ()), {"name": ADMISSION_GATE}, {"name": TOPOLOGY_GATE}]
    shape = json.dumps(spec["containers"], sort_keys=True).encode()
    role = {_ROLE: hashlib.sha256(shape).hexdigest()[:8]}
    marked = meta | {
        "labels": _labels(pod) | {MANAGED: "true"},
        "annotations": (meta.get("annotations") or {}) | role,
        "finalizers": [*(meta.get("finalizers") or ()), MANAGED],
    }
    return pod | {"metadata": marked, "spec": spec | {"schedulingGates": gates}}


def suspend_new(new: Json, old: Json | None) -> Json:
    """A job with a queue name starts suspended, whatever its author wished."""
    if old is not None or not _labels(new).get(QUEUE_NAME):
        return new
    return new | {"spec": new["spec"] | {"suspend": True}}


def guard_labels(new: Json, old: Json | None) -> Json:
    """What is said to Kueue in labels stays as it is while the job runs. 403 otherwise."""
    if old is not None and (found := list(_bad_labels(new, old))):
        listed = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        raise denied(f"v{new['kind'].lower()}.kb.io", listed)
    return new


def _bad_labels(new: Json, old: Json) -> Iterator[str]:
    wanted, have = _labels(new), _labels(old)
    runs = not new["spec"].get("suspend")
    if runs and wanted.get(QUEUE_NAME) != have.get(QUEUE_NAME):
        yield _invalid(QUEUE_NAME, wanted, _IMMUTABLE)
    if (runs or not old["spec"].get("suspend")) and wanted.get(MAX_EXEC_TIME) != have.get(MAX_EXEC_TIME):
        yield _invalid(MAX_EXEC_TIME, wanted, _IMMUTABLE)
    if runs and wanted.get(PRIORITY_CLASS) and not have.get(PRIORITY_CLASS):
        why = "WorkloadPriorityClass cannot be added to a non-suspended workload"
        yield _invalid(PRIORITY_CLASS, wanted, why)
    if have.get(PRIORITY_CLASS) and not wanted.get(PRIORITY_CLASS):
        yield _invalid(PRIORITY_CLASS, wanted, "WorkloadPriorityClass cannot be removed from a workload")


def _invalid(label: str, labels: Mapping[str, str], why: str) -> str:
    return f'metadata.labels[{label}]: Invalid value: "{labels.get(label, "")}": {why}'


def _labels(job: Json) -> dict[str, str]:
    return dict(job["metadata"].get("labels") or {})


def guard_queue(new: Json, old: Json | None) -> Json:
    """A ClusterQueue stays until nobody holds its quota."""
    if old is not None:
        return new
    finalizers = ["kueue.x-k8s.io/resource-in-use"]
    return new | {"metadata": new["metadata"] | {"finalizers": finalizers}}
