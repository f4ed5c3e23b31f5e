from __future__ import annotations

import pytest
from support.e2e import grace
from support.e2e.fixtures import MakeWorld
from support.e2e.grace import *  # noqa: F403
from support.e2e.keeper import quiet
from support.e2e.steps import output, submit

from k8s_bridge.sandbox.world.config import HIGH, TEAM_B

pytestmark = [grace.pytestmark, pytest.mark.slurm]

LISTENS = "listens"
"""What the job is called once its step can take the signal."""
WRITES_A_CHECKPOINT = (
    'trap "echo checkpoint; exit 0" USR1; '
    f'scontrol update "JobId=$SLURM_JOB_ID" JobName={LISTENS}; sleep 600 & wait'
)


async def test_its_steps_get_the_signal_that_its_owner_asked_for(make_world: MakeWorld):
    async with make_world(spec=grace.draining(grace.PATIENT)) as world:
        await world.bridge()
        job_id = await submit(world, "--ntasks=1", "--comment=wm:signal=USR1", step=WRITES_A_CHECKPOINT)
        await world.until(
            lambda: job_id in world.jobs and world.jobs[job_id].name == LISTENS, what="its step listens"
        )
        world.submit_job("urgent", queue=TEAM_B, priority=HIGH, cpus=8, seconds=0.5)
        assert await output(world, job_id) == ["checkpoint"]
        assert world.jobs[job_id].restarts == 0
        await grace.the_other_ran(world)
        await quiet(world)
