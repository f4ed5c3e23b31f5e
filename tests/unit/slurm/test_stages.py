"""Every stage of a life is measured once, however fast the next one begins."""

from __future__ import annotations

import pytest

from k8s_bridge.runtime.metrics import Stage
from k8s_bridge.slurm.stages import Stages
from k8s_bridge.slurm.unit import State


@pytest.fixture
def told():
    return []


@pytest.fixture
def stages(told):
    return Stages(lambda stage, seconds: told.append((stage, seconds)), lambda s: told.append(("latency", s)))


def test_a_whole_life(stages, told):
    stages.entered(1, State.HELD, 0)
    stages.created(1, 1)
    stages.entered(1, State.QUEUED, 2)
    stages.entered(1, State.ADMITTED, 11)
    stages.entered(1, State.READY, 31)
    stages.released(1, 32)
    stages.entered(1, State.RELEASED, 33)
    stages.entered(1, State.RUNNING, 35)
    stages.entered(1, State.DRAINING, 100)
    stages.entered(1, State.DONE, 104)
    assert told == [
        (Stage.PICKUP, 1),
        (Stage.ADMISSION_WAIT, 10),
        (Stage.PROVISION, 20),
        (Stage.RELEASE, 1),
        ("latency", 32),
        (Stage.START, 3),
        (Stage.TEARDOWN, 4),
    ]


def test_a_job_that_starts_before_it_was_seen_released_is_measured_too(stages, told):
    stages.entered(1, State.READY, 0)
    stages.released(1, 1)
    stages.entered(1, State.RUNNING, 3)
    assert told == [(Stage.RELEASE, 1), (Stage.START, 2)]


def test_what_was_not_seen_to_begin_is_not_measured(stages, told):
    stages.entered(1, State.RUNNING, 5)
    stages.released(2, 6)
    assert told == []


def test_an_eviction_ends_no_stage_and_the_latency_counts_from_the_first_hold(stages, told):
    stages.entered(1, State.HELD, 0)
    stages.entered(1, State.ADMITTED, 1)
    stages.entered(1, State.EVICTED, 2)
    stages.entered(1, State.HELD, 3)
    stages.released(1, 9)
    assert told == [("latency", 9)]


def test_of_a_unit_that_is_gone_nothing_is_kept(stages):
    stages.entered(1, State.HELD, 0)
    stages.forget(1)
    assert not stages._began
    assert not stages._held
