"""What pods tell of why a node does not come, or is gone. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from api.views import ContainerStatus, Pod
from k8s_bridge.core.admission import condition, is_true
from k8s_bridge.slurm.model import Node
from k8s_bridge.slurm.unit import Unit

ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of a pod in which nothing of it runs any more."""
Told = tuple[str, str]
"""(reason, text); both empty when there is nothing to tell."""


def provisioning_trouble(unit: Unit, nodes: tuple[Node, ...]) -> Told:
    """(reason, text) of what keeps admitted pods from becoming nodes; empty when all is on its way."""
    for node in nodes:
        if "INVALID_REG" in node.states:
            return "InvalidRegistration", f"node {node.name}: {node.reason}"
    for pod in unit.pods:
        reason, text = _pod_trouble(pod)
        if reason:
            return reason, f"pod {pod.metadata.name}: {text}"
    return "", ""


def _pod_trouble(pod: Pod) -> Told:
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = status.state.waiting
        if waiting and waiting.reason not in {"", "ContainerCreating", "PodInitializing"}:
            return waiting.reason, waiting.message
        ended = status.state.terminated
        if ended and ended.exit_code:
            return ended.reason or "Error", f"container {status.name} ended with exit code {ended.exit_code}"
    scheduled = condition(pod.status.conditions, "PodScheduled")
    if scheduled and not is_true(scheduled) and scheduled.reason:
        return scheduled.reason, scheduled.message
    return "", ""


def losses(pods: Iterable[Pod], names: Iterable[str]) -> str:
    """How the pods of those names ended, as far as they still tell it."""
    there = {pod.metadata.name: pod for pod in pods}
    return ", ".join(f"{name}{_end_of(there.get(name))}" for name in names)


def _end_of(pod: Pod | None) -> str:
    if pod is None:
        return ""
    disrupted = condition(pod.status.conditions, "DisruptionTarget")
    if disrupted is not None and is_true(disrupted):
        return f" ({disrupted.reason}: {disrupted.message})"
    ends = (_exit(status) for status in pod.status.container_statuses)
    said = next(filter(None, ends), "") or ": ".join(filter(None, (pod.status.reason, pod.status.message)))
    return f" ({said})" if said else ""


def _exit(status: ContainerStatus) -> str:
    ended = status.state.terminated
    return f"{ended.reason or 'Error'}, exit code {ended.exit_code}" if ended else ""
