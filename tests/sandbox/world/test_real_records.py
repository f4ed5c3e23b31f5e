"""A job is over when it has left its nodes, however the release of Slurm words that."""

from __future__ import annotations

import pytest

from k8s_bridge.sandbox.world.real_records import job_fact


@pytest.mark.parametrize("state", ["COMPLETING", ["COMPLETED", "COMPLETING"], ["COMPLETING", "FAILED"]])
def test_a_job_that_leaves_its_nodes_is_not_over(state: str | list[str]):
    assert not job_fact({"job_id": 1, "job_state": state}).over


@pytest.mark.parametrize("state", ["COMPLETED", ["COMPLETED"], ["TIMEOUT"]])
def test_a_job_in_a_final_state_is_over(state: str | list[str]):
    assert job_fact({"job_id": 1, "job_state": state}).over


@pytest.mark.parametrize("state", ["PENDING", ["RUNNING"], ["PENDING", "REQUEUED"]])
def test_a_job_that_waits_or_runs_is_not_over(state: str | list[str]):
    assert not job_fact({"job_id": 1, "job_state": state}).over
