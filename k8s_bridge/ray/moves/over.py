"""A job that is over, or none of our business: everything is given back."""

from __future__ import annotations

from k8s_bridge.core.effects import Delete, ObjectRef
from k8s_bridge.ray.effects import Effect, LetPass, StopSubmission
from k8s_bridge.ray.facts import Facts, is_held
from k8s_bridge.ray.moves.common import Verdict, since, verdict, without_workers

_LOGS_GRACE = 30.0
"""Seconds that workers outlive the job, for KubeRay to see its end and for the last lines of its log."""


def nothing(facts: Facts, now: float) -> Verdict:
    """Nothing is left to do."""
    del facts, now
    return verdict("", "")


def give_back(facts: Facts, now: float) -> Verdict:
    """The RayJob goes its own way; its workers are given back."""
    del now
    return verdict("Deleted", "the RayJob is deleted", *without_workers(facts))


def let_go(facts: Facts, now: float) -> Verdict:
    """Not for us (any more): nothing of ours may hold it, unless it is another's to let go."""
    del now
    if facts.unit.elsewhere:
        text = f"its cluster is served by WorkloadMixing {facts.unit.elsewhere}"
        return verdict("ServedElsewhere", text, *without_workers(facts))
    text = "its cluster is not managed here"
    return verdict("NotManaged", text, *without_workers(facts), *_passes(facts))


def report_interactive(facts: Facts, now: float) -> Verdict:
    """Nothing can hold what a person submits: say so."""
    del now
    text = "a person submits it to Ray, so it waits for no capacity and has no workers of its own"
    return verdict("InteractiveMode", text, *without_workers(facts), *_passes(facts))


def _passes(facts: Facts) -> tuple[Effect, ...]:
    held = [pod for pod in facts.unit.submitters if is_held(pod)]
    return tuple(LetPass(pod=pod.metadata.name, version=pod.metadata.resource_version) for pod in held)


def finish(facts: Facts, now: float) -> Verdict:
    """Workers go when KubeRay has seen the end, or a little later.

    An end that is KubeRay's alone (a deadline) is brought to Ray first: a driver on the head would run on.
    """
    status = facts.job.status
    text = _over(facts)
    left = 0.0 if facts.settled else _LOGS_GRACE - since(facts, now)
    if left > 0:
        return verdict("Finished", text, after=left)
    runs = bool(status.job_status) and not facts.over_in_ray
    stop: tuple[Effect, ...] = (StopSubmission(job_id=status.job_id),) if runs else ()
    return verdict("Finished", text, *stop, *without_workers(facts))


def retire(facts: Facts, now: float) -> Verdict:
    """KubeRay never deletes finished jobs of a shared cluster; the policy may."""
    status, ttl = facts.job.status, facts.unit.policy.ttl
    text = _over(facts)
    if not ttl or status.end_time is None:
        return verdict("Finished", text)
    left = status.end_time.timestamp() + ttl - now
    if left > 0:
        return verdict("Finished", text, after=left)
    return verdict("Expired", text, Delete(ref=ObjectRef.to(facts.job)))


def _over(facts: Facts) -> str:
    status = facts.job.status
    text = f"over: {status.job_status or status.job_deployment_status}"
    return f"{text}; its last words: {facts.words}" if facts.words else text
