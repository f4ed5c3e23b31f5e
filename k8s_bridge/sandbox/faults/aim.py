"""What a deed strikes: something of its victim, or of any Slurm job, by chance."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import NODES, PODS, WORKLOADS, Kind
from k8s_bridge.sandbox.faults.model import NothingToHitError, Scene
from k8s_bridge.sandbox.world.config import NAMESPACE
from k8s_bridge.sandbox.world.recorder import job_of


def living(scene: Scene, kind: Kind) -> list[Json]:
    """The living objects of the victim, or of all Slurm jobs."""
    world = scene.world
    if kind is WORKLOADS:
        jobs = {scene.victim} if scene.victim is not None else set(world.jobs)
        return [found for job in sorted(jobs) if (found := world.workload(job))]
    objects = world.storage.list(kind, namespace=NAMESPACE)
    ours = [obj for obj in objects if job_of(obj) is not None and not _is_over(obj)]
    return [obj for obj in ours if scene.victim in (None, job_of(obj))]


def _is_over(obj: Json) -> bool:
    phase = (obj.get("status") or {}).get("phase")
    return "deletionTimestamp" in obj["metadata"] or phase in ("Succeeded", "Failed")


def one(scene: Scene, kind: Kind) -> Json:
    """One of them; NothingToHitError when there is none."""
    found = living(scene, kind)
    if not found:
        raise NothingToHitError(kind.plural)
    return scene.chance.choice(found)


def machine(scene: Scene) -> str:
    """The one with a pod of the victim, or any with a pod of a Slurm job; NothingToHitError without one."""
    bound = [pod["spec"]["nodeName"] for pod in living(scene, PODS) if pod["spec"].get("nodeName")]
    there = [name for name in bound if scene.world.storage.find(NODES, "", name)]
    if not there:
        raise NothingToHitError("no machine has a pod of a Slurm job")
    return str(scene.chance.choice(sorted(there)))


def pods_on(scene: Scene, name: str) -> list[Json]:
    """The living pods on a machine."""
    pods = scene.world.storage.list(PODS, namespace=NAMESPACE)
    return [pod for pod in pods if pod["spec"].get("nodeName") == name and not _is_over(pod)]
