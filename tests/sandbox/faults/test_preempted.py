"""Ten jobs are preempted at once. On virtual time: what is measured is the bridge, and not the machine."""

from __future__ import annotations

import time

import pytest
from support.adversary import all_well, spied
from support.simulation import simulation
from support.virtual import virtual_time

from k8s_bridge.sandbox.world import JobRequest
from k8s_bridge.sandbox.world.config import HIGH, TEAM_B
from k8s_bridge.sandbox.world.slurm import JobFact, Seen

VICTIMS = 10
QUOTA = {"cpu": "10", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "100"}
WITHIN = 2.0


async def story() -> list[float]:
    """Seconds from Kueue's word until each job is pending again."""
    requeued: dict[int, float] = {}

    def note(seen: Seen) -> None:
        if isinstance(seen, JobFact) and seen.restarts and seen.waiting:
            requeued.setdefault(seen.job_id, time.time())

    async with simulation(quota=QUOTA) as sim:
        world = sim.world
        world.slurm.facts.listeners.append(note)
        victims = [await world.sbatch(JobRequest(ntasks=1, seconds=10.0)) for _ in range(VICTIMS)]
        for job_id in victims:
            await world.until_state(job_id, "RUNNING")
        world.submit_job("whole", queue=TEAM_B, priority=HIGH, cpus=1, pods=VICTIMS, seconds=0.5)
        await world.until(lambda: len(requeued) == VICTIMS, what="all are requeued")
        await all_well(world, *victims, seconds=120)
        evicted = {eviction.job_id: eviction.at for eviction in world.timeline.evictions}
        return [requeued[job_id] - evicted[job_id] for job_id in victims]


@pytest.mark.timeout(400)
def test_each_is_requeued_within_two_seconds_and_completes():
    with spied(), virtual_time() as runner:
        waits = runner.run(story())
    assert max(waits) <= WITHIN, sorted(waits)
