"""Pods that run Ray: heads, workers that join one, and KubeRay's submitters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.controllers.kubelet_runtime import (
    Pod,
    PodEnv,
    PodRuntime,
    RunningPod,
    SelectRuntime,
    main_container,
)
from k8s_bridge.sandbox.ray_fake.heads import Heads
from k8s_bridge.sandbox.ray_fake.start import command_text, is_ray_node, start_options
from k8s_bridge.sandbox.ray_fake.submitter import SubmitterPod, submission
from k8s_bridge.sandbox.ray_fake.worker import HeadPod, WorkerPod


class RayRuntime:
    """Starts whatever of Ray a container runs."""

    def __init__(self, heads: Heads) -> None:
        self._heads = heads

    async def start(self, pod: Pod, env: PodEnv) -> RunningPod:
        """Start it. ValueError when its options cannot be read."""
        if not is_ray_node(pod):
            return SubmitterPod(self._heads, submission(command_text(pod), env.variables), pod)
        options = start_options(pod, env)
        if not options.head:
            return WorkerPod(self._heads, options, pod, ip=env.pod_ip)
        head = self._heads.open(pod, ip=env.pod_ip, environment=env.variables)
        return HeadPod(self._heads, head, options, ip=env.pod_ip)


def with_ray(heads: Heads, otherwise: SelectRuntime) -> SelectRuntime:
    """A chooser that gives Ray's pods to Ray, and all others to `otherwise`."""
    ray = RayRuntime(heads)

    def select(pod: Pod) -> PodRuntime:
        return ray if is_ray_node(pod) or _submits(main_container(pod)) else otherwise(pod)

    return select


def _submits(container: Mapping[str, Any]) -> bool:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return "ray job submit" in " ".join(words)
