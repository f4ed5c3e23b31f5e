"""Each scenario runs from end to end, small, with our own bridge."""

from __future__ import annotations

from pathlib import Path

from bench import held, life
from bench.bridge import OURS
from bench.report import budgets
from k8s_bridge.sandbox.world import Backend


async def test_life_measures_every_stage_of_every_job(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(life, "_SECONDS", 0.5)
    monkeypatch.setattr(life, "_SETTLE", 0.1)
    result = await life.run(command=OURS, directory=tmp_path, jobs=4, slurm=Backend.FAKE, rate=0)
    assert {name for name in budgets() if name.startswith("life.")} <= result.measured.keys()
    assert set(result.detail["counts"].values()) == {4}
    assert result.detail["kubernetes"]["mutation"]["create jobsets"] == 4
    assert result.measured["life.slurm_mutations_per_job"] >= 4
    assert result.measured["life.our_share_of_release.p50_ms"] > 0
    assert (
        result.measured["life.our_share_of_release.p50_ms"]
        <= result.measured["life.registered_to_released.p50_ms"]
    )


async def test_held_measures_what_idleness_costs(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(held, "_QUIET", 1.0)
    monkeypatch.setattr(held, "_IDLE", 0.5)
    result = await held.run(command=OURS, directory=tmp_path, jobs=8, slurm=Backend.FAKE)
    assert {name for name in budgets() if name.startswith("held.")} <= result.measured.keys()
    assert result.measured["held.jobsets"] == 8
    assert result.measured["held.rss_mib"] > 10
