"""A job that has found its node: its supervisor starts, its entrypoint runs, and how it ends."""

from __future__ import annotations

from k8s_bridge.sandbox.clock import Clock
from k8s_bridge.sandbox.controllers.simulated_runtime import Script
from k8s_bridge.sandbox.controllers.timing import Timing
from k8s_bridge.sandbox.ray_fake import messages
from k8s_bridge.sandbox.ray_fake.entrypoint import read_entrypoint
from k8s_bridge.sandbox.ray_fake.model import JobStatus, RayJob, RayNode
from k8s_bridge.sandbox.ray_fake.racing import first

_CONNECTS = "ray.init("


class Driver:
    """Plays entrypoints on a clock."""

    def __init__(self, clock: Clock, *, timing: Timing) -> None:
        self._clock = clock
        self._timing = timing

    async def run(self, job: RayJob, node: RayNode, *, driver_id: str) -> None:
        """Return when the job is over."""
        await first(self._clock.sleep(self._timing.ray_driver), node.dead.wait())
        if job.status is JobStatus.PENDING and not node.silent.is_set() and not job.stop.is_set():
            job.status, job.ran = JobStatus.RUNNING, True
            job.log = f"Running entrypoint for job {job.submission_id}: {job.entrypoint}\n"
            await self._play(job, node, driver_id=driver_id)
        elif node.silent.is_set():
            await node.dead.wait()
        self._judge(job, node)

    async def _play(self, job: RayJob, node: RayNode, *, driver_id: str) -> None:
        script = read_entrypoint(job.entrypoint)
        await first(self._until_end(job, script, driver_id), job.stop.wait(), node.silent.wait())
        if node.silent.is_set():
            await node.dead.wait()
        elif not job.stop.is_set():
            job.exit_code = script.code

    async def _until_end(self, job: RayJob, script: Script, driver_id: str) -> None:
        if _CONNECTS in job.entrypoint:
            await self._clock.sleep(self._timing.ray_init)
            job.driver = driver_id
        if script.seconds is None:
            await self._forever()
        else:
            await self._clock.sleep(script.seconds)

    async def _forever(self) -> None:
        while True:
            await self._clock.sleep(3600.0)

    def _judge(self, job: RayJob, node: RayNode) -> None:
        if job.status.terminal:
            return
        if node.silent.is_set():
            why = (node.death or messages.Death.LOST).of_actors
            text = messages.node_died(
                job=job.submission_id, actor=job.actor, node=node.node_id, ip=node.ip, why=why
            )
            self.end(job, JobStatus.FAILED, message=text, error=messages.DIED)
        elif job.exit_code is None:
            self.end(job, JobStatus.STOPPED)
        elif job.exit_code == 0:
            self.end(job, JobStatus.SUCCEEDED)
        else:
            text = messages.exited(job.exit_code, job.log)
            self.end(job, JobStatus.FAILED, message=text, error=messages.ENTRYPOINT)

    def end(
        self, job: RayJob, status: JobStatus, *, message: str | None = None, error: str | None = None
    ) -> None:
        """The job is over."""
        job.status, job.message, job.error_type = status, message, error
        job.ended = self._clock.now().timestamp()
        job.over.set()
