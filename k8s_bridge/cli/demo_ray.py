"""The demo's second act: a Ray job in a cluster that teams share, in the same queue as Slurm's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from k8s_bridge.ray import names
from k8s_bridge.ray.policies import policies
from k8s_bridge.sandbox.apiserver.kinds import RAYCLUSTERS, RAYJOBS
from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import HIGH, NAMESPACE, NORMAL, TEAM_A, URGENT
from k8s_bridge.sandbox.world.shared_ray import SharedRay

SPEC: dict[str, Any] = {
    "ray": {
        "localQueue": TEAM_A,
        "managedClusters": [{"name": "shared"}],
        "poolMappings": [{"pool": "default", "workloadPriorityClass": NORMAL}],
    }
}
"""What the WorkloadMixing says besides."""
_JOB, _WORKERS = "tune", 4


class RayStory:
    """`scale` makes the jobs take longer or shorter."""

    def __init__(self, world: World, *, say: Callable[[str], None], scale: float) -> None:
        self._world = world
        self._say = say
        self._scale = scale
        self._ray = SharedRay(world)

    async def tell(self) -> None:
        """From the shared cluster's beginning to its end."""
        self._say("a RayCluster that both teams share, admitted once, and the Ray bridge beside the other")
        made = tuple(policies(prefix="ray-bridge", mutating="v1beta1"))
        await self._ray.start(priority=HIGH, policies=made)
        await self._world.bridge("ray-bridge", kind="ray")
        await self._run()
        await self._preempt()
        self._world.delete(RAYJOBS, _JOB)
        self._world.delete(RAYCLUSTERS, self._ray.name)

    async def _run(self) -> None:
        notes = {names.WORKERS: str(_WORKERS)}
        self._ray.submit(_JOB, seconds=4 * self._scale, annotations=notes)
        self._say(
            f"$ kubectl create rayjob {_JOB}   (team-a: {_WORKERS} workers of its own in the shared cluster)"
        )
        await self._until("RUNNING", seconds=40)
        self._say(f"RayJob {_JOB} was held until all its workers had joined; now it runs on them alone")

    async def _preempt(self) -> None:
        request = JobRequest(name="alert", partition=URGENT, ntasks=6, seconds=2 * self._scale)
        urgent = await self._world.sbatch(request)
        self._say(f"$ sbatch {' '.join(request.arguments())}   → job {urgent} (team-b)")
        await self._world.until(self._requeued, what=f"RayJob {_JOB} is requeued", seconds=40)
        self._say(
            f"Kueue preempts RayJob {_JOB} for Slurm job {urgent}; it is held again, and its cluster stays"
        )
        await self._world.until_state(urgent, "COMPLETED", seconds=60)
        await self._until("SUCCEEDED", seconds=60)
        self._say(f"RayJob {_JOB} ran again when there was room, and succeeded")

    async def _until(self, status: str, *, seconds: float) -> None:
        def reached() -> bool:
            return bool(self._ray.status(_JOB).get("jobStatus") == status)

        await self._world.until(reached, what=f"RayJob {_JOB} is {status}", seconds=seconds)

    def _requeued(self) -> bool:
        found = self._world.storage.get(RAYJOBS, NAMESPACE, _JOB)
        return names.REQUEUES in (found["metadata"].get("annotations") or {})
