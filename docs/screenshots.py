"""Makes docs/images: a bridge at work in the sandbox. `PYTHONPATH=tests python docs/screenshots.py`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from support.chromium import screenshot

from k8s_bridge.sandbox.world import JobRequest, World, WorldConfig
from k8s_bridge.sandbox.world.config import TEAM_B, URGENT
from k8s_bridge.sandbox.world.fake_side import FakeSide

IMAGES = Path(__file__).parent / "images"
LONG = 300.0


async def submit(world: World, user: str, request: JobRequest, **more: object) -> int:
    """As somebody's job; the sandbox's own sbatch is root's."""
    assert isinstance(world.slurm, FakeSide)
    return world.slurm.slurm.submit(
        run_time=request.seconds, exit_code=0, user=user, **request.description(), **more
    )


async def furnish(world: World) -> None:
    """Two teams share 8 CPUs: jobs run, wait for quota or each other, cannot be met, were preempted."""
    victim = await submit(world, "ada", JobRequest(name="sweep", ntasks=5, seconds=LONG))
    await world.until_state(victim, "RUNNING")
    urgent = await submit(world, "grace", JobRequest(partition=URGENT, ntasks=4, mem=2048, seconds=LONG))
    train = JobRequest(name="train", ntasks=2, cpus_per_task=1, gpus_per_node=2, seconds=LONG)
    first = await submit(world, "ada", train)
    for job_id in (urgent, first):
        await world.until_state(job_id, "RUNNING", seconds=60)
    world.submit_job("report", queue=TEAM_B, cpus=1, pods=1, seconds=LONG)
    await submit(world, "emmy", JobRequest(nodes="2", ntasks=4, seconds=LONG))
    await submit(world, "emmy", JobRequest(ntasks=1, seconds=LONG), dependency=f"afterok:{first}")
    await submit(world, "alan", JobRequest(tmp=1024, seconds=1))
    await submit(world, "alan", JobRequest(array="0-9", ntasks=1, seconds=LONG))


async def main() -> None:
    """Take the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with World.start(WorldConfig(directory=Path(folder))) as world:
            bridge = await world.bridge()
            await furnish(world)
            await asyncio.sleep(6)
            await screenshot(f"{bridge.address}/", IMAGES / "status.png", height=1560)
            await screenshot(f"{bridge.address}/units/3", IMAGES / "unit.png", height=620)


if __name__ == "__main__":
    asyncio.run(main())
