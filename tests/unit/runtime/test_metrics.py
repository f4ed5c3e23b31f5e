from __future__ import annotations

import re

from prometheus_client.parser import text_string_to_metric_families

from k8s_bridge.core.conditions import Finding
from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.core.errors import Retry
from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.families import Kind
from k8s_bridge.runtime.metrics import JobSetChange, Metrics, Stage
from k8s_bridge.runtime.reading import Amount, Queue, Reading, UnitGroup
from k8s_bridge.runtime.supervisor import Change, Report

FORBIDDEN_LABELS = {"job", "job_id", "user", "name", "unit", "jobset", "pod", "node"}
KEPT_FROM_THE_PROTOTYPE = {
    "k8s_bridge_held_jobs",
    "k8s_bridge_slurm_jobs_listed",
    "k8s_bridge_jobsets_created",
    "k8s_bridge_jobsets_deleted",
    "k8s_bridge_jobset_create_errors",
    "k8s_bridge_jobs_failed",
    "k8s_bridge_slurm_api_requests",
    "k8s_bridge_slurm_request_duration_seconds",
    "k8s_bridge_job_release_latency_seconds",
    "k8s_bridge_last_successful_tick_timestamp_seconds",
}


def sample(metrics, name, **labels):
    for family in text_string_to_metric_families(metrics.text().decode()):
        for found in family.samples:
            if found.name == name and labels.items() <= found.labels.items():
                return found.value
    return None


def outcome(result, **more):
    return Outcome(controller="hpc/main", key=42, result=result, **more)


def exercised():
    """Metrics in which every instrument has been used at least once."""
    metrics = Metrics(lambda: True)
    for result in Result:
        metrics.outcome(outcome(result, effect="Apply", state="QUEUED", seconds=0.2))
    metrics.outcome(outcome(Result.BUG, effect="decide"))
    for stage in Stage:
        metrics.stage("hpc/main", stage=stage, seconds=3)
    for change in JobSetChange:
        metrics.jobset("hpc/main", change=change)
    metrics.released("hpc/main", seconds=4)
    metrics.slurm_call("hpc/main", method="GET", code=200, seconds=0.01, size=10)
    metrics.job_failed("hpc/main")
    metrics.leaked("hpc/main", direction="in")
    metrics.requeued("hpc/main", queue="hpc", cause="Evicted")
    metrics.report(Report(name="hpc/main", change=Change.CRASHED))
    metrics.kube.on_call(method="GET", kind="Pod", code=200, seconds=0.1, size=5)
    metrics.kube.on_malformed(kind="Pod", key="a/b", error="x")
    metrics.kube.on_reflector_error(kind="Pod", error=Retry("x"))
    metrics.kube.on_lease_error(error=Retry("x"))
    metrics.kube.on_list(kind="Pod", items=1, seconds=0.1)
    ref = ObjectRef(api_version="v1", kind="Pod", plural="pods", namespace="a", name="b")
    metrics.kube.on_event_dropped(event=Event(ref=ref, type=EventType.NORMAL, reason="R", message="m"))
    metrics.gauges.watch("hpc/main", reading)
    metrics.gauges.judge("hpc/main", lambda: {"Ready": Finding(type="Ready", status="False", reason="Why")})
    return metrics


CPUS = Amount(flavor="default", resource="cpu", used=2.0, used_by_all=6.0, nominal=8.0)


def reading():
    return Reading(
        units={UnitGroup(state="QUEUED", partition="cpu", queue="hpc"): 3},
        held_jobs=2,
        slurm_jobs=9,
        slurm_nodes=4,
        ready=1,
        delayed=5,
        active=6,
        last_answer=1000.0,
        token_expires=2000.0,
        quarantined={"jobs": 1},
        info={"slurm_version": "24.11.5"},
        oldest={"QUEUED": 60.0},
        queues=(Queue(name="hpc", cluster_queue="all", pending=7, admitted=2, amounts=(CPUS,)),),
    )


def test_no_label_can_grow_without_bound_and_every_name_is_ours():
    families = list(text_string_to_metric_families(exercised().text().decode()))
    assert len(families) > 25
    for family in families:
        assert re.fullmatch(r"(k8s_bridge|process)_[a-z_]+", family.name)
        assert family.documentation
        for found in family.samples:
            assert not FORBIDDEN_LABELS & found.labels.keys(), family.name


def test_dashboards_made_for_the_prototype_find_its_names():
    names = {family.name for family in text_string_to_metric_families(exercised().text().decode())}
    assert names >= KEPT_FROM_THE_PROTOTYPE


def test_effects_are_counted_by_name_and_result():
    metrics = Metrics(lambda: True)
    metrics.outcome(outcome(Result.DONE, effect="Apply", seconds=0.2))
    metrics.outcome(outcome(Result.DONE, effect="Apply", seconds=0.2))
    metrics.outcome(outcome(Result.RETRY, effect="Apply"))
    metrics.outcome(outcome(Result.VERDICT, state="QUEUED"))
    metrics.outcome(outcome(Result.BUG, effect="decide"))
    count = "k8s_bridge_effects_total"
    assert sample(metrics, count, workloadmixing="hpc/main", effect="Apply", result="done") == 2
    assert sample(metrics, count, effect="Apply", result="retry") == 1
    assert sample(metrics, count, effect="decide") is None
    assert sample(metrics, "k8s_bridge_undecided_total", result="bug") == 1
    assert sample(metrics, "k8s_bridge_verdicts_total", state="QUEUED") == 1
    assert sample(metrics, "k8s_bridge_effect_duration_seconds_count", effect="Apply") == 3


def test_gauges_are_read_at_the_scrape_and_go_with_their_bridge():
    leading, ready = [False], [5]
    metrics = Metrics(lambda: leading[0])
    metrics.gauges.watch("hpc/main", lambda: Reading(ready=ready[0], blocked="starting"))
    assert sample(metrics, "k8s_bridge_leader") == 0
    assert sample(metrics, "k8s_bridge_synced", workloadmixing="hpc/main") == 0
    assert sample(metrics, "k8s_bridge_queue_depth", kind="ready") == 5
    leading[0], ready[0] = True, 0
    assert sample(metrics, "k8s_bridge_leader") == 1
    assert sample(metrics, "k8s_bridge_queue_depth", kind="ready") == 0
    metrics.gauges.expect("hpc/main")
    assert sample(metrics, "k8s_bridge_synced", workloadmixing="hpc/main") == 0, "it crashed: still wanted"
    assert sample(metrics, "k8s_bridge_last_successful_tick_timestamp_seconds") == 0
    metrics.gauges.forget("hpc/main")
    assert sample(metrics, "k8s_bridge_synced") is None


def test_a_token_that_never_expires_has_no_expiry_to_alert_on():
    metrics = Metrics(lambda: True)
    metrics.gauges.watch("a/b", Reading)
    assert sample(metrics, "k8s_bridge_token_expiry_timestamp_seconds") is None


def test_a_clock_that_went_back_does_not_break_a_histogram():
    metrics = Metrics(lambda: True)
    metrics.stage("a/b", stage=Stage.PICKUP, seconds=-3)
    assert sample(metrics, "k8s_bridge_stage_duration_seconds_sum", stage="pickup") == 0


def test_two_processes_in_one_interpreter_share_nothing():
    one, other = Metrics(lambda: True), Metrics(lambda: True)
    one.job_failed("a/b")
    assert sample(other, "k8s_bridge_jobs_failed_total") is None


def test_what_is_declared_is_what_is_there():
    """Docs, dashboards and alerts rest on the declarations."""
    metrics = exercised()
    there = {
        found.name: found.labels.keys() - {"le"}
        for family in text_string_to_metric_families(metrics.text().decode())
        for found in family.samples
        if found.name.startswith("k8s_bridge_") and not found.name.endswith("_created")
    }
    declared = {series: set(family.labels) for family in metrics.families for series in family.series}
    assert there == declared
    kinds = {family.full_name: family.kind.value for family in metrics.families}
    for family in text_string_to_metric_families(metrics.text().decode()):
        if family.name in kinds:
            assert family.type == kinds[family.name]
    assert {family.kind for family in metrics.families} == set(Kind)


def test_quota_is_told_by_queue_and_by_the_cluster_queue_behind_it():
    metrics = exercised()
    assert sample(metrics, "k8s_bridge_local_queue_reserved", queue="hpc", resource="cpu") == 2
    assert sample(metrics, "k8s_bridge_cluster_queue_reserved", cluster_queue="all", resource="cpu") == 6
    assert sample(metrics, "k8s_bridge_cluster_queue_quota", cluster_queue="all", flavor="default") == 8
    assert sample(metrics, "k8s_bridge_local_queue_pending_workloads", queue="hpc") == 7


def test_a_condition_is_shown_until_its_workloadmixing_is_gone():
    metrics = exercised()
    assert sample(metrics, "k8s_bridge_condition", workloadmixing="hpc/main", type="Ready") == 0
    metrics.gauges.acquit("hpc/main")
    assert sample(metrics, "k8s_bridge_condition") is None


def test_a_bridge_is_there_with_zeroes_from_its_start_to_its_end():
    metrics = Metrics(lambda: True)
    metrics.report(Report(name="a/b", change=Change.STARTED))
    assert sample(metrics, "k8s_bridge_synced", workloadmixing="a/b") == 0
    for counter in ("jobs_failed", "jobsets_created", "bridge_restarts", "undecided"):
        assert sample(metrics, f"k8s_bridge_{counter}_total", workloadmixing="a/b") == 0
    metrics.report(Report(name="a/b", change=Change.CRASHED))
    assert sample(metrics, "k8s_bridge_bridge_restarts_total", workloadmixing="a/b") == 1
    assert sample(metrics, "k8s_bridge_synced", workloadmixing="a/b") == 0
    metrics.report(Report(name="a/b", change=Change.STOPPED))
    assert sample(metrics, "k8s_bridge_synced") is None


def test_another_bridge_has_the_same_metrics_under_its_own_name():
    text = Metrics(lambda: True, prefix="ray_bridge_").text().decode()
    assert "ray_bridge_leader 1.0" in text
    assert "k8s_bridge_" not in text
