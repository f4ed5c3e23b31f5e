"""What Kueue's webhooks do to jobs and queues as they are created or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.controllers.kueue.workload import MAX_EXEC_TIME, PRIORITY_CLASS, QUEUE_NAME
from k8s_bridge.sandbox.controllers.webhook import denied

_IMMUTABLE = "field is immutable"


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


def _labels(job: Json) -> Mapping[str, str]:
    return job["metadata"].get("labels") or {}


def guard_queue(new: Json, old: Json | None) -> Json:
    """A ClusterQueue stays until nobody holds its quota."""
    if old is not None:
        return new
    finalizers = ["kueue.x-k8s.io/resource-in-use"]
    return new | {"metadata": new["metadata"] | {"finalizers": finalizers}}
