"""What the bridge did to jobs and JobSets is counted where it was done, not where it was tried."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.metrics import Metrics
from k8s_bridge.slurm.tally import Tally
from k8s_bridge.slurm.unit import Partition, State, Unit


def counted(metrics):
    return {
        (found.name.removeprefix("k8s_bridge_"), *sorted(found.labels.items())): found.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for found in family.samples
        if family.type == "counter" and "workloadmixing" in found.labels and found.name.endswith("_total")
    }


@pytest.mark.parametrize(
    ("effect", "result", "name"),
    [
        ("CreateJobSet", Result.DONE, "jobsets_created_total"),
        ("CreateJobSet", Result.TERMINAL, "jobset_create_errors_total"),
        ("CreateJobSet", Result.RETRY, "jobset_create_errors_total"),
        ("CreateJobSet", Result.STALE, None),
        ("CreateJobSet", Result.FENCED, None),
        ("Delete", Result.DONE, "jobsets_deleted_total"),
        ("Delete", Result.RETRY, None),
        ("Cancel", Result.DONE, "jobs_failed_total"),
        ("Cancel", Result.CONFLICT, None),
        ("TakeHold", Result.DONE, None),
    ],
)
def test_an_effect_counts_when_it_was_carried_out(effect, result, name):
    metrics = Metrics(lambda: True)
    Tally(metrics, "hpc/main")(Outcome(controller="hpc/main", key=1, result=result, effect=effect))
    assert counted(metrics) == ({(name, ("workloadmixing", "hpc/main")): 1.0} if name else {})


def test_jobs_that_lose_their_nodes_are_counted_by_queue_and_cause():
    metrics = Metrics(lambda: True)
    tally = Tally(metrics, "hpc/main")
    unit = Unit(job_id=1, partition=Partition(name="p", queue="team-a", priority_class="c"))
    for state in (State.EVICTED, State.LOST, State.RUNNING):
        tally.entered(unit, state)
    assert counted(metrics) == {
        ("requeues_total", ("cause", cause), ("queue", "team-a"), ("workloadmixing", "hpc/main")): 1.0
        for cause in ("Evicted", "Lost")
    }


def test_queues_and_states_are_there_with_zeroes_before_anything_happens():
    metrics = Metrics(lambda: True)
    Tally(metrics, "hpc/main").configure(["team-a"])
    found = counted(metrics)
    assert set(found.values()) == {0.0}
    assert ("verdicts_total", ("state", "Running"), ("workloadmixing", "hpc/main")) in found
    for cause in ("Evicted", "Lost"):
        labels = (("cause", cause), ("queue", "team-a"), ("workloadmixing", "hpc/main"))
        assert ("requeues_total", *labels) in found
