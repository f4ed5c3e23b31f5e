"""What shows a state: one predicate per row of the table in decide.py.

Rows are tried in order, so each predicate may rest on those above it not holding.
"""

from __future__ import annotations

from k8s_bridge.core.admission import Capacity
from k8s_bridge.ray import names
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.request import Refusal, Request
from k8s_bridge.ray.unit import Requeue

_PEOPLE_SUBMIT = "InteractiveMode"


def foreign(facts: Facts) -> bool:
    """Not in a managed shared cluster."""
    if facts.gone:
        return False
    if not facts.inner:
        return True
    ours = facts.released and facts.unit.jobset is not None
    return bool(facts.unit.elsewhere) or (not facts.unit.managed and not ours)


def left_nothing(facts: Facts) -> bool:
    """Deleted, and nothing of it is left."""
    return facts.gone and facts.unit.jobset is None


def gone(facts: Facts) -> bool:
    """Deleted, or being deleted."""
    return facts.gone


def interactive(facts: Facts) -> bool:
    """Submitted by a person (InteractiveMode)."""
    return facts.job.spec.submission_mode == _PEOPLE_SUBMIT


def final(facts: Facts) -> bool:
    """Over, and no second submission would follow; its workers are still there."""
    return facts.final and facts.unit.jobset is not None


def spent(facts: Facts) -> bool:
    """It lost its capacity more often than it may, or KubeRay cannot make another submission."""
    if not facts.bereft or (facts.over and facts.unit.jobset is None):
        return False
    return not _may_requeue(facts)


def requeuing(facts: Facts) -> bool:
    """Its submission is being given up for the next one."""
    return facts.requeuing and not facts.final


def evicted(facts: Facts) -> bool:
    """It was let go, and Kueue took the capacity back, or the JobSet is gone."""
    return facts.bereft and facts.withdrawn and _may_requeue(facts)


def lost(facts: Facts) -> bool:
    """It failed after a worker was lost."""
    return facts.bereft and _may_requeue(facts)


def over(facts: Facts) -> bool:
    """Over; its workers are still there."""
    return facts.over and facts.unit.jobset is not None


def done(facts: Facts) -> bool:
    """Over, and everything is given back."""
    return facts.over


def bypassed(facts: Facts) -> bool:
    """Ray knows the job, or will, though nothing let it go: it was not held."""
    return not facts.released and bool(facts.job.status.job_status or facts.loose)


def refused(facts: Facts) -> bool:
    """It asks for what cannot be given."""
    return isinstance(facts.unit.request, Refusal) and not facts.released


def without_cluster(facts: Facts) -> bool:
    """The shared cluster is missing or suspended, or, before the job is let go, has no head yet."""
    return facts.cluster_away if facts.released else not facts.cluster_ready


def exhausted(facts: Facts) -> bool:
    """Its workers failed more often than they may."""
    return facts.annotations.get(names.WORKER_RETRIES) == names.EXHAUSTED


def denied(facts: Facts) -> bool:
    """Its JobSet was refused at the last attempt."""
    return facts.unit.jobset is None and facts.unit.denied is not None


def without_jobset(facts: Facts) -> bool:
    """Nothing was asked for yet."""
    return facts.unit.jobset is None


def resized(facts: Facts) -> bool:
    """What its workers would be made from changed before they were of use."""
    jobset, shape = facts.unit.jobset, facts.unit.shape
    made_from = jobset.metadata.annotations.get(names.SHAPE, "") if jobset else ""
    return bool(shape) and not facts.released and made_from != shape


def failed(facts: Facts) -> bool:
    """The JobSet ended before the job did."""
    jobset = facts.unit.jobset
    ended = jobset is not None and bool(jobset.status.terminal_state)
    return ended or facts.admission.capacity is Capacity.FINISHED


def queued(facts: Facts) -> bool:
    """No capacity."""
    return not facts.admitted


def ready(facts: Facts) -> bool:
    """All workers have joined, and its submitter is held."""
    return facts.gated is not None and len(facts.joined) >= facts.wanted and facts.cluster_ready


def running(facts: Facts) -> bool:
    """Let go, and Ray runs it."""
    return facts.released and facts.job.status.job_status == "RUNNING"


def released(facts: Facts) -> bool:
    """Let go, and Ray does not run it yet."""
    return facts.released


def admitted(facts: Facts) -> bool:
    """Capacity is there, workers are on their way (the last row: always true)."""
    del facts
    return True


def _may_requeue(facts: Facts) -> bool:
    request = facts.unit.request
    limit = request.max_requeues if isinstance(request, Request) else 0
    return facts.requeues < limit and facts.unit.policy.requeue is Requeue.RETRYING
