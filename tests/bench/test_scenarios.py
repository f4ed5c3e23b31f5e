"""Each scenario runs from end to end, small, with our own bridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench import alone, evictions, held, life, nudged, ray_jobs, twenty
from bench.bridge import OURS
from bench.places import place
from bench.report import budgets

HERE = replace(place("sandbox"), rate=1000.0)


def budgeted(scenario: str) -> set[str]:
    return {name for where in ("sandbox", "testbed") for name in budgets(where) if name.startswith(scenario)}


async def test_life_measures_every_stage_of_every_job(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(life, "_SECONDS", 0.5)
    monkeypatch.setattr(life, "_SETTLE", 0.1)
    result = await life.run(command=OURS, directory=tmp_path, jobs=4, place=HERE)
    assert budgeted("life.") <= result.measured.keys()
    assert set(result.detail["counts"].values()) == {4}
    assert "requeue" not in result.detail["counts"]
    assert result.detail["kubernetes"]["mutation"]["create jobsets"] == 4
    assert result.measured["life.slurm_mutations_per_job"] >= 4
    assert result.measured["life.our_share_of_release.p50_ms"] > 0
    assert (
        result.measured["life.our_share_of_release.p50_ms"]
        <= result.measured["life.registered_to_released.p50_ms"]
    )


async def test_held_measures_what_idleness_costs(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(held, "_QUIET", 5.0)
    monkeypatch.setattr(held, "_IDLE", 0.5)
    result = await held.run(command=OURS, directory=tmp_path, jobs=8, place=HERE)
    assert budgeted("held.") <= result.measured.keys()
    assert result.measured["held.jobsets"] == 8
    assert result.measured["held.rss_mib"] > 10


@pytest.mark.parametrize(
    ("scenario", "run", "jobs"),
    [
        ("alone", alone.run, 1),
        ("nudged", nudged.run, 1),
        ("evictions", evictions.run, 2),
        ("ray_jobs", ray_jobs.run, 2),
        ("twenty", twenty.run, 3),
        ("twenty_strict", twenty.run_strict, 3),
    ],
)
async def test_what_has_a_budget_is_measured(scenario: str, run: Callable, jobs: int, tmp_path: Path):
    result = await run(command=OURS, directory=tmp_path, jobs=jobs, place=HERE)
    assert budgeted(f"{scenario}.") <= result.measured.keys()
