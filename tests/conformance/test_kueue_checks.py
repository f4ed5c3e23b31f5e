"""Admission checks: quota is reserved, and the Workload admitted only when each check is ready."""

from __future__ import annotations

from typing import Any

from conformance.cluster import Cluster

_NOW = "2026-01-01T00:00:00Z"
_ACTIVE = {
    "type": "Active",
    "status": "True",
    "reason": "ByHand",
    "message": "here",
    "lastTransitionTime": _NOW,
}


async def _furnish(cluster: Cluster) -> None:
    await cluster.create(cluster.make.admission_check("chk"))
    await cluster.patch("admissioncheck/chk", {"status": {"conditions": [_ACTIVE]}}, subresource="status")
    checks: dict[str, Any] = {"admissionChecks": [{"name": cluster.make.own("chk")}]}
    await cluster.furnish(admissionChecksStrategy=checks)


async def _say(cluster: Cluster, state: str, message: str) -> None:
    check = {"name": cluster.make.own("chk"), "state": state, "message": message, "lastTransitionTime": _NOW}
    await cluster.patch("workload/a", {"status": {"admissionChecks": [check]}}, subresource="status")


async def test_quota_is_reserved_and_nothing_runs_until_the_check_is_ready(cluster: Cluster):
    await _furnish(cluster)
    await cluster.create(cluster.make.jobset("a"))
    await cluster.sees("workload/a", "QuotaReserved=True")
    await cluster.sees("jobset/a", "Suspended=True")
    await cluster.quiet()
    assert cluster.story("workload/a", since="queue", leave_out=("check",)) == [
        "queue=lq",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
    ]
    assert cluster.story("jobset/a")[-1] == "Suspended=True SuspendedJobs: jobset is suspended"

    await _say(cluster, "Ready", "go")
    await cluster.sees("pod/a-w-0-0", "phase=Running")
    assert cluster.story("workload/a", since="check chk=Ready") == [
        "check chk=Ready: go",
        "Admitted=True Admitted: The workload is admitted",
    ]


async def test_a_check_that_says_retry_gives_the_quota_back_and_tries_again(cluster: Cluster):
    await _furnish(cluster)
    await cluster.create(cluster.make.jobset("a"))
    await cluster.sees("workload/a", "QuotaReserved=True")
    await cluster.quiet()
    await _say(cluster, "Retry", "again please")
    await cluster.sees("workload/a", "Evicted=False")

    assert cluster.story("workload/a", since="check chk=Retry") == [
        "check chk=Retry: again please",
        "Evicted=True AdmissionCheck: At least one admission check is false",
        "check chk=Pending: Reset to Pending after eviction. Previously: Retry",
        "QuotaReserved=False Pending: At least one admission check is false",
        "Requeued=False AdmissionCheck: At least one admission check is false",
        "no admission",
        "Requeued=True BackoffFinished: The workload backoff was finished",
        "Evicted=False QuotaReserved: Previously: At least one admission check is false",
        "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue cq",
        "admission=cq",
    ]


async def test_a_check_that_is_rejected_deactivates_even_what_runs(cluster: Cluster):
    await _furnish(cluster)
    await cluster.create(cluster.make.jobset("a"))
    await cluster.sees("workload/a", "QuotaReserved=True")
    await cluster.quiet()
    await _say(cluster, "Ready", "go")
    await cluster.sees("pod/a-w-0-0", "phase=Running")
    await _say(cluster, "Rejected", "never")
    await cluster.sees("pod/a-w-0-0", "gone")
    await cluster.sees("workload/a", "no admission")

    why = "The workload is deactivated due to Admission check(s): chk, were rejected"
    unready = "The workload has no reservation and not all checks ready"
    assert cluster.story("workload/a", since="check chk=Rejected") == [
        "check chk=Rejected: never",
        "DeactivationTarget=True AdmissionCheck: Admission check(s): chk, were rejected",
        "active=False",
        "no DeactivationTarget",
        f"Evicted=True DeactivatedDueToAdmissionCheck: {why}",
        "check chk=Pending: Reset to Pending after eviction. Previously: Rejected",
        f"Admitted=False NoReservationUnsatisfiedChecks: {unready}",
        f"QuotaReserved=False Pending: {why}",
        f"Requeued=False DeactivatedDueToAdmissionCheck: {why}",
        "no admission",
    ]
