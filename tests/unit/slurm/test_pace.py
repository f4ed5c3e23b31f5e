"""How closely Slurm is watched."""

from __future__ import annotations

import pytest

from k8s_bridge.slurm.pace import Pace, pause


@pytest.mark.parametrize("ran", [0.0, 1.0, 3.0, 8.0])
def test_the_end_of_a_short_run_is_seen_within_a_tenth_of_it(ran: float):
    assert pause(Pace.RUNNING, took=0.01, ran=ran, stood=ran, interval=10.0) <= max(0.1 * ran, 0.05)


@pytest.mark.parametrize(("took", "seconds"), [(0.01, 1.0), (0.5, 5.0)])
def test_long_runs_cost_slurm_a_tenth_of_its_time_at_most(took: float, seconds: float):
    assert pause(Pace.RUNNING, took=took, ran=86_400.0, stood=0.0, interval=10.0) == seconds


def test_a_run_that_began_before_the_bridge_is_a_long_one():
    assert pause(Pace.RUNNING, took=0.01, ran=float("inf"), stood=0.0, interval=10.0) == 1.0


@pytest.mark.parametrize("pace", Pace)
def test_no_pause_is_longer_than_the_spec_says(pace: Pace):
    assert pause(pace, took=60.0, ran=86_400.0, stood=0.0, interval=0.02) <= 0.02


@pytest.mark.parametrize(("stood", "seconds"), [(20.0, 0.4), (900.0, 1.0)])
def test_what_stands_still_for_minutes_is_watched_less_closely(stood: float, seconds: float):
    assert pause(Pace.MOVING, took=0.01, ran=0.0, stood=stood, interval=10.0) == pytest.approx(seconds)
    assert pause(Pace.MOVING, took=0.01, ran=0.0, stood=0.5, interval=10.0) <= 0.05
