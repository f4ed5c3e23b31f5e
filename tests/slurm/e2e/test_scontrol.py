"""Each row of the table of scontrol, by the real scontrol, on a real slurmctld."""

from __future__ import annotations

from itertools import groupby

import pytest
from support.e2e import scontrol
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet
from support.scontrol_table import ROWS, Stage

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slurm, pytest.mark.slow]
BY_STAGE = {stage: tuple(rows) for stage, rows in groupby(ROWS, key=lambda row: row.stage)}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("stage", Stage)
async def test_every_row_of_the_table_holds(make_world: MakeWorld, stage: Stage):
    quota = {"cpu": "8" if stage is Stage.WAITING else "40", "memory": "64Gi", "pods": "100"}
    async with make_world(quota=quota, spec=scontrol.SPEC, slurm_conf=scontrol.CONF) as world:
        await world.bridge()
        found = await scontrol.STAGES[stage](world, world.slurm.slurm, BY_STAGE[stage])
        wrong = {
            f"{row.command} by {row.by}: {row.outcome.name}": text for row, text in found.items() if text
        }
        assert wrong == {}
        await quiet(world)
