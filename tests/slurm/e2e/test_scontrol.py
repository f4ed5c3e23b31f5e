"""Each row of the table of scontrol, by the real scontrol, on a real slurmctld."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
from support.e2e import scontrol
from support.e2e.fixtures import MakeWorld
from support.e2e.keeper import quiet
from support.scontrol_table import ON_22_05, ROWS, Outcome, Row, Stage

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slurm, pytest.mark.slow]
BY_STAGE = {stage: tuple(rows) for stage, rows in groupby(ROWS, key=lambda row: row.stage)}
LONG_OR_NOTHING = {Outcome.RESPECTED, Outcome.REFUSED, Outcome.UNSEEN, Outcome.KEPT}


async def tried(make_world: MakeWorld, stage: Stage, rows: tuple[Row, ...]) -> dict[str, str]:
    """What does not hold, by row."""
    quota = {"cpu": "8" if stage is Stage.WAITING else "40", "memory": "64Gi", "pods": "100"}
    async with make_world(quota=quota, spec=scontrol.SPEC, slurm_conf=scontrol.CONF) as world:
        await world.bridge()
        found = await scontrol.STAGES[stage](world, world.slurm.slurm, rows)
        await quiet(world)
    return {f"{row.command} by {row.by}: {row.outcome.name}": text for row, text in found.items() if text}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("stage", Stage)
async def test_every_row_of_the_table_holds(make_world: MakeWorld, stage: Stage):
    assert await tried(make_world, stage, BY_STAGE[stage]) == {}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("slurm", ["22.05"], indirect=True, scope="module")
async def test_rows_of_waiting_jobs_hold_on_22_05(make_world: MakeWorld):
    rows = (replace(row, outcome=ON_22_05.get(row.command, row.outcome)) for row in BY_STAGE[Stage.WAITING])
    touched = tuple(row for row in rows if row.outcome not in LONG_OR_NOTHING)
    assert await tried(make_world, Stage.WAITING, touched) == {}
