"""A job with capacity: its workers join, it is let go, it runs."""

from __future__ import annotations

from k8s_bridge.ray import names
from k8s_bridge.ray.effects import Release
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.moves.asking import anew
from k8s_bridge.ray.moves.common import Verdict, deadline, note, since, verdict
from k8s_bridge.ray.release import Release as Record


def await_workers(facts: Facts, now: float) -> Verdict:
    """Workers start and join; what keeps them from it is not waited for without end."""
    waited, limit = since(facts, now), facts.unit.policy.provision_timeout
    if len(facts.joined) >= facts.wanted:
        return verdict("AwaitingSubmitter", "its workers have joined; KubeRay has not made its submitter yet")
    joined = f"{len(facts.joined)} of {facts.wanted} workers have joined"
    if waited >= limit:
        return anew(facts, text=f"only {joined} within {limit:.0f} s")
    return verdict("Joining", joined, after=limit - waited)


def release(facts: Facts, now: float) -> Verdict:
    """All are there: note on what the job is let go, then let it go."""
    pod, job_id = facts.gated, facts.job.status.job_id
    assert pod is not None
    go = Release(
        pod=pod.metadata.name,
        version=pod.metadata.resource_version,
        token=facts.token,
        workers=facts.wanted,
        attempt=facts.requeues + 1,
    )
    text = f"{facts.wanted} of {facts.wanted} workers are up; it is let go when Ray counts all of them, too"
    if facts.released:
        return verdict("Released", text, go)
    record = Record.on(job_id, admission=facts.admission, pods=facts.unit.workers)
    marks = {names.RELEASED: str(record)}
    return verdict("Released", text, note(facts, marks, spec=deadline(facts, until=now)), go)


def await_start(facts: Facts, now: float) -> Verdict:
    """Ray has it, or its submitter is on the way."""
    del now
    return verdict("Released", facts.job.status.message or "its submitter gives it to Ray")


def follow(facts: Facts, now: float) -> Verdict:
    """Running well, perhaps while a lost worker is replaced."""
    del now
    missing = facts.wanted - len(facts.joined)
    text = f"runs on {facts.wanted} worker(s)"
    return verdict("Running", f"{text}; {missing} being replaced" if missing > 0 else text)


def report_bypass(facts: Facts, now: float) -> Verdict:
    """Nothing can be held any more: say so."""
    del facts, now
    text = "it reached Ray without waiting for capacity: nothing in its namespace holds jobs"
    return verdict("Bypassed", text)
