"""What happens in the demo: who submits what, and what has to have happened before the next step."""

from __future__ import annotations

from collections.abc import Callable

from k8s_bridge.sandbox.world import JobRequest, World
from k8s_bridge.sandbox.world.config import BATCH, NORMAL, TEAM_A, TEAM_B, URGENT

_REFUSED = "k8s-bridge: Refused"
Say = Callable[[str], None]


class Story:
    """Two teams share 8 CPUs. `scale` makes the jobs take longer or shorter."""

    def __init__(self, world: World, *, say: Say, scale: float) -> None:
        self._world = world
        self._say = say
        self._scale = scale

    async def tell(self) -> None:
        """From the first submission to the last; jobs may still run afterwards."""
        self._say("the bridge starts: a process of its own, as in a cluster")
        await self._world.bridge()
        victim = await self._fill_the_queue()
        wish = await self._ask_for_too_much()
        self._submit_report()
        await self._see_refused(wish)
        await self._preempt(victim)
        await self._world.scancel(wish)
        self._say(f"$ scancel {wish}")

    async def _fill_the_queue(self) -> int:
        """Team A takes the whole quota, and more; the id of the job that will be preempted."""
        align = JobRequest(name="align", nodes="2", ntasks=4, seconds=self._time(8))
        train = JobRequest(name="train", ntasks=1, cpus_per_task=2, gpus_per_node=2, seconds=self._time(9))
        sweep = JobRequest(name="sweep", ntasks=2, mem=512, seconds=self._time(10))
        ids = [await self._sbatch(request) for request in (align, train, sweep)]
        for job_id in ids:
            await self._world.until_state(job_id, "RUNNING", seconds=40)
        self._say(
            f"jobs {ids[0]}, {ids[1]} and {ids[2]} run on slurmd pods of their own; the quota is used up"
        )
        await self._sbatch(JobRequest(name="stats", nodes="1", ntasks=3, time=5, seconds=self._time(2)))
        return ids[2]

    async def _ask_for_too_much(self) -> int:
        return await self._sbatch(JobRequest(name="wish", tmp=1024, seconds=1))

    async def _see_refused(self, job_id: int) -> None:
        await self._world.until(
            lambda: self._world.text(job_id).startswith(_REFUSED),
            what=f"job {job_id} is told why it is refused",
        )
        self._say(f"job {job_id} asks for what cannot be given; its comment says: {self._world.text(job_id)}")

    def _submit_report(self) -> None:
        self._world.submit_job("report", queue=TEAM_B, priority=NORMAL, cpus=1, pods=2, seconds=self._time(2))
        self._say("$ kubectl create job report   (team-b: 2 pods of 1 CPU, queued by Kueue like the rest)")

    async def _preempt(self, victim: int) -> None:
        """An urgent job of team B: Kueue takes capacity back, and the bridge requeues what ran on it."""
        forecast = await self._sbatch(
            JobRequest(name="forecast", partition=URGENT, ntasks=2, seconds=self._time(2))
        )
        await self._world.until(
            lambda: self._world.timeline.evictions, what="Kueue preempts for the urgent job", seconds=40
        )
        evicted = self._world.timeline.evictions[0].job_id or victim
        self._say(f"Kueue preempts job {evicted} for the urgent job {forecast}")
        await self._world.until(
            lambda: (job := self._world.jobs.get(evicted)) and job.restarts,
            what=f"job {evicted} is requeued",
            seconds=40,
        )
        self._say(f"job {evicted} is requeued and held: it runs again when there is room")
        await self._world.until_state(forecast, "RUNNING", "COMPLETED", seconds=40)
        await self._world.until_state(evicted, "RUNNING", "COMPLETED", seconds=60)
        self._say(f"job {evicted} has nodes again, new ones, and runs")

    async def _sbatch(self, request: JobRequest) -> int:
        job_id = await self._world.sbatch(request)
        team = TEAM_A if request.partition == BATCH else TEAM_B
        options = " ".join(option for option in request.arguments() if "requeue" not in option)
        self._say(f"$ sbatch {options}   → job {job_id} ({team})")
        return job_id

    def _time(self, seconds: float) -> float:
        return seconds * self._scale
