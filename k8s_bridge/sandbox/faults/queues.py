"""What is done to queues, Workloads and JobSets."""

from __future__ import annotations

import itertools

from k8s_bridge.sandbox.apiserver.kinds import LOCALQUEUES, WORKLOADS, Kind
from k8s_bridge.sandbox.faults import aim
from k8s_bridge.sandbox.faults.model import Deed, Scene, Undo
from k8s_bridge.sandbox.world.config import HIGH, NAMESPACE, TEAM_A, TEAM_B
from k8s_bridge.sandbox.world.objects import SHARED_QUEUE

_URGENT_CPUS = 8
_numbers = itertools.count()


async def preempt(scene: Scene) -> None:
    """A Kubernetes Job of high priority wants the whole quota."""
    name = f"urgent-{next(_numbers)}"
    scene.world.submit_job(name, queue=TEAM_B, priority=HIGH, cpus=_URGENT_CPUS, seconds=1.0)


def stop_queue(kind: Kind, *, policy: str) -> Deed:
    """Stop team-a's LocalQueue or the ClusterQueue behind it."""
    namespace, name = (NAMESPACE, TEAM_A) if kind is LOCALQUEUES else ("", SHARED_QUEUE)

    async def deed(scene: Scene) -> Undo:
        scene.world.storage.patch(kind, namespace, name, {"spec": {"stopPolicy": policy}})

        async def undo() -> None:
            scene.world.storage.patch(kind, namespace, name, {"spec": {"stopPolicy": "None"}})

        return undo

    return deed


def delete(kind: Kind) -> Deed:
    """Delete a JobSet or a Workload."""

    async def deed(scene: Scene) -> None:
        scene.world.delete(kind, aim.one(scene, kind)["metadata"]["name"])

    return deed


async def deactivate(scene: Scene) -> Undo:
    """Somebody deactivates a Workload, and at the end activates it."""
    name = aim.one(scene, WORKLOADS)["metadata"]["name"]
    storage = scene.world.storage
    storage.patch(WORKLOADS, NAMESPACE, name, {"spec": {"active": False}})

    async def undo() -> None:
        if storage.find(WORKLOADS, NAMESPACE, name):
            storage.patch(WORKLOADS, NAMESPACE, name, {"spec": {"active": True}})

    return undo
