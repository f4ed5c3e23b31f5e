"""A job that is held: until there are workers for it."""

from __future__ import annotations

from k8s_bridge.core.effects import Event, EventType, ObjectRef
from k8s_bridge.ray import names
from k8s_bridge.ray.effects import CreateWorkers
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.moves.common import Verdict, note, since, verdict, without_workers
from k8s_bridge.ray.request import Refusal, Request

_CLUSTER_GRACE = 30.0
"""Seconds without a head until the quota goes back: a head that restarts is away for a while."""


def refuse(facts: Facts, now: float) -> Verdict:
    """Say why, and ask for nothing; the job stays held."""
    del now
    refusal = facts.unit.request
    assert isinstance(refusal, Refusal)
    return verdict(refusal.reason, refusal.text, *without_workers(facts))


def await_cluster(facts: Facts, now: float) -> Verdict:
    """No quota for workers that could join nothing."""
    name = facts.job.spec.cluster_selector.get(names.CLUSTER_SELECTOR, "")
    text = f"RayCluster {name} is missing, suspended, or its head is not up"
    left = _CLUSTER_GRACE - since(facts, now)
    if facts.unit.jobset is None:
        return verdict("ClusterNotReady", text)
    if left > 0:
        return verdict("ClusterNotReady", text, after=left)
    return verdict("ClusterNotReady", text, *without_workers(facts))


def report_exhausted(facts: Facts, now: float) -> Verdict:
    """Its workers are not made again; the job stays held until somebody deletes it."""
    del now
    limit = facts.unit.policy.worker_retries
    text = f"its workers failed {limit + 1} times; remove annotation {names.WORKER_RETRIES} to try again"
    return verdict("WorkerRetriesExhausted", text, *without_workers(facts))


def report_denial(facts: Facts, now: float) -> Verdict:
    """Say why there is no JobSet, and try again now and then."""
    denial = facts.unit.denied
    assert denial is not None
    if now >= denial.until:
        return verdict(denial.reason, denial.text, CreateWorkers(shape=facts.unit.shape))
    return verdict(denial.reason, denial.text, after=denial.until - now)


def ask(facts: Facts, now: float) -> Verdict:
    """Ask Kueue for the job's workers."""
    del now
    request = facts.unit.request
    assert isinstance(request, Request)
    text = f"asking LocalQueue {request.queue} for {request.workers} worker(s)"
    if not facts.unit.shape:
        return verdict("ClusterNotReady", "the RayCluster tells nothing that workers can be made from")
    return verdict("Asking", text, CreateWorkers(shape=facts.unit.shape))


def ask_anew(facts: Facts, now: float) -> Verdict:
    """The JobSet is of no use any more; the next one follows when it is gone."""
    del now
    return verdict("Resized", "what its workers are made from has changed", *without_workers(facts))


def make_again(facts: Facts, now: float) -> Verdict:
    """Count the failure, then away with the JobSet; the next one follows when it is gone."""
    del now
    return anew(facts, text="its workers ended before the job did")


def anew(facts: Facts, *, text: str) -> Verdict:
    """Workers are made again, as often as they may."""
    jobset = facts.unit.jobset
    if jobset is None or jobset.metadata.deletion_timestamp is not None:
        return verdict("WorkerJobSetFailed", text)
    last = facts.retries >= facts.unit.policy.worker_retries
    count = names.EXHAUSTED if last else str(facts.retries + 1)
    told = Event(
        ref=ObjectRef.to(facts.job), type=EventType.WARNING, reason="WorkerJobSetFailed", message=text
    )
    return verdict(
        "WorkerJobSetFailed", text, told, note(facts, {names.WORKER_RETRIES: count}), *without_workers(facts)
    )


def await_quota(facts: Facts, now: float) -> Verdict:
    """Kueue's own words are the reason."""
    del now
    reason, text = facts.unit.trouble
    said = facts.admission
    return verdict(
        reason or said.reason or "Pending", text or said.message or "waits for Kueue to see its JobSet"
    )
