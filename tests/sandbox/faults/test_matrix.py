"""A fault strikes a job at each stage of its life: what becomes of the job is what docs/faults.md says."""

from __future__ import annotations

import pytest
from support.adversary import spied
from support.fault_matrix import MATRIX, PATIENT
from support.fault_trial import Stage, outcome
from support.virtual import virtual_time

from k8s_bridge.sandbox.faults import named


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MATRIX)
def test_what_becomes_of_a_job(name: str):
    found, strikes = {}, 0
    for stage in Stage:
        with spied(), virtual_time() as runner:
            found[stage], struck = runner.run(outcome(named(name), stage))
            strikes += struck
    assert found == MATRIX[name]
    assert strikes, "it struck nothing in any cell"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", PATIENT)
def test_what_becomes_of_a_job_that_may_go_on_until_its_pods_end(name: str):
    with spied(), virtual_time() as runner:
        found, struck = runner.run(outcome(named(name), Stage.RUNNING, drainOnPreemption=True))
    assert found is PATIENT[name]
    assert struck
