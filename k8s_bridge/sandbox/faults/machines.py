"""Pods and machines that go, with and without a goodbye."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS
from k8s_bridge.sandbox.controllers.nodes import node_manifest
from k8s_bridge.sandbox.faults import aim
from k8s_bridge.sandbox.faults.model import Deed, NothingToHitError, Scene, Undo


def delete_pod(*, grace_seconds: int | None) -> Deed:
    """Delete a slurmd pod; 0 takes it away without a goodbye."""

    async def deed(scene: Scene) -> None:
        scene.world.delete(PODS, aim.one(scene, PODS)["metadata"]["name"], grace_seconds=grace_seconds)

    return deed


async def crash(scene: Scene) -> None:
    """Kill slurmd in its pod."""
    pod = aim.one(scene, PODS)
    await scene.world.controllers.kubelets.kill(pod["metadata"]["uid"])


async def hang(scene: Scene) -> None:
    """End slurmd; its pod does not notice."""
    name = aim.one(scene, PODS)["metadata"]["name"]
    if name not in scene.slurm.nodes:
        raise NothingToHitError(name)
    scene.slurm.lose_node(name)


async def drain(scene: Scene) -> Undo:
    """Do what `kubectl drain` does; at the end `kubectl uncordon`."""
    machine = aim.machine(scene)
    storage = scene.world.storage
    storage.patch(NODES, "", machine, {"spec": {"unschedulable": True}})
    for pod in aim.pods_on(scene, machine):
        scene.world.delete(PODS, pod["metadata"]["name"])

    async def undo() -> None:
        storage.patch(NODES, "", machine, {"spec": {"unschedulable": None}})

    return undo


async def power_off(scene: Scene) -> Undo:
    """A machine loses power; at the end it boots."""
    machine = aim.machine(scene)
    await scene.world.power_off(machine)

    async def undo() -> None:
        scene.world.controllers.nodes.power_on(machine)

    return undo


async def unplug(scene: Scene) -> Undo:
    """A machine loses power and its Node is deleted; at the end it comes back as a new one."""
    machine = aim.machine(scene)
    await scene.world.power_off(machine)
    scene.world.delete(NODES, machine)

    async def undo() -> None:
        scene.world.storage.create(NODES, node_manifest(machine, scene.world.config.machine))
        scene.world.controllers.nodes.power_on(machine)

    return undo
