"""A Ray cluster that the teams of a world share, and the RayJobs that run in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import BY_KIND, NAMESPACES, RAYCLUSTERS, RAYJOBS
from k8s_bridge.sandbox.ray_fake import RayHead
from k8s_bridge.sandbox.world.config import NAMESPACE, TEAM_A
from k8s_bridge.sandbox.world.world import World

IMAGE = "ray:sandbox"
MANAGED = "ray-bridge.x-k8s.io/managed"
"""The label of namespaces whose RayJobs a bridge looks after."""
OVER = ("Complete", "Failed", "ValidationFailed")


class SharedRay:
    """One RayCluster of a world: a head, and `workers` workers of its own with `cpus` CPUs each.

    Kueue admits it once, like a job of its queue. `policies` are manifests to be in force in the namespace.
    """

    def __init__(self, world: World, *, name: str = "shared") -> None:
        self._world = world
        self.name = name

    async def start(
        self,
        *,
        queue: str = TEAM_A,
        priority: str = "",
        workers: int = 0,
        cpus: int = 1,
        policies: tuple[Json, ...] = (),
    ) -> None:
        """Create it and wait until it is ready. `priority` is a WorkloadPriorityClass."""
        storage = self._world.storage
        storage.patch(NAMESPACES, "", NAMESPACE, {"metadata": {"labels": {MANAGED: "true"}}})
        for policy in policies:
            storage.create(BY_KIND[policy["apiVersion"], policy["kind"]], policy)
        cluster = ray_cluster(self.name, queue=queue, workers=workers, cpus=cpus)
        cluster["metadata"]["labels"] |= {naming.PRIORITY_CLASS: priority} if priority else {}
        storage.create(RAYCLUSTERS, cluster)
        await self._world.until(self._is_ready, what=f"RayCluster {self.name} is ready", seconds=30)

    @property
    def head(self) -> RayHead:
        """The head that runs now. RuntimeError when there is none."""
        head = self._world.controllers.ray.at(NAMESPACE, self.name)
        if head is None:
            raise RuntimeError(f"RayCluster {self.name} has no head")
        return head

    @property
    def cluster(self) -> Json:
        """The RayCluster."""
        return self._world.storage.get(RAYCLUSTERS, NAMESPACE, self.name)

    def submit(
        self,
        name: str,
        *,
        seconds: float = 1.0,
        entrypoint: str = "",
        annotations: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Json:
        """Create a RayJob in the cluster; without an entrypoint it sleeps. ApiError when it is refused."""
        whole = {
            "clusterSelector": {"ray.io/cluster": self.name},
            "entrypoint": entrypoint or f"sleep {seconds:g}",
        }
        meta = {"name": name, "namespace": NAMESPACE, "annotations": dict(annotations or {})}
        job = {"metadata": meta | {"labels": dict(labels or {})}, "spec": whole | spec}
        return self._world.storage.create(RAYJOBS, job)

    def status(self, name: str) -> Json:
        """The status of a RayJob; empty before it has one."""
        found = self._world.storage.find(RAYJOBS, NAMESPACE, name)
        return dict((found or {}).get("status") or {})

    async def until_over(self, name: str, *, seconds: float = 60.0) -> Json:
        """Wait until a RayJob is over; its status."""

        def ended() -> Json | None:
            status = self.status(name)
            return status if status.get("jobDeploymentStatus") in OVER else None

        return await self._world.until(ended, what=f"RayJob {name} is over", seconds=seconds)

    def _is_ready(self) -> bool:
        return bool((self.cluster.get("status") or {}).get("state") == "ready")


def ray_cluster(name: str, *, queue: str, workers: int, cpus: int) -> Json:
    """A RayCluster whose head runs drivers and no tasks."""
    head = {"rayStartParams": {"num-cpus": "0"}, "template": _pod("ray-head", cpu="500m", memory="1Gi")}
    group = {
        "groupName": "common",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers,
        "rayStartParams": {},
        "template": _pod("ray-worker", cpu=str(cpus), memory="1Gi"),
    }
    spec = {"rayVersion": "2.60.0", "headGroupSpec": head, "workerGroupSpecs": [group] if workers else []}
    labels = {naming.QUEUE_NAME: queue} if queue else {}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "spec": spec}


def _pod(name: str, *, cpu: str, memory: str) -> Json:
    container = {"name": name, "image": IMAGE, "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"spec": {"containers": [container]}}
