"""A job that lost its capacity: its submission is given up, and KubeRay makes the next one."""

from __future__ import annotations

from k8s_bridge.core.effects import Delete, ObjectRef, Patch
from k8s_bridge.ray import names
from k8s_bridge.ray.effects import Effect, StopSubmission
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.moves.common import Verdict, deadline, note, verdict, without_workers
from k8s_bridge.ray.unit import Requeue

_RETRYING = "Retrying"


def requeue(facts: Facts, now: float) -> Verdict:
    """Note which submission is given up; whoever reads the note later goes on from here."""
    del now
    job_id = facts.job.status.job_id
    marks = {names.REQUEUING: job_id, names.REQUEUES: str(facts.requeues + 1)}
    given_up = note(facts, marks, spec=deadline(facts, until=None))
    return verdict("Preempted" if facts.withdrawn else "WorkerLost", _why(facts), given_up)


def submit_anew(facts: Facts, now: float) -> Verdict:
    """Stop it in Ray, then let KubeRay make another submission, which is held again."""
    del now
    text = f"submitted anew for the {facts.requeues}. time; it waits for capacity again"
    if facts.job.status.job_deployment_status == _RETRYING:
        return verdict("Requeuing", text)
    if not facts.job.status.job_status and facts.loose:
        return verdict("Requeuing", text, *_on_the_way(facts))
    lever = Patch(
        ref=ObjectRef.to(facts.job),
        # KubeRay would keep the end of the one given up, where the job's time to live would begin
        patch={"status": {"jobDeploymentStatus": _RETRYING, "endTime": None}},
        subresource="status",
        resource_version=facts.job.metadata.resource_version,
    )
    return verdict("Requeuing", text, StopSubmission(job_id=facts.job.status.job_id), lever)


def _on_the_way(facts: Facts) -> tuple[Effect, ...]:
    """The end of submitters that could give the old submission to Ray after it was given up.

    What the Job makes in their place is held.
    """
    loose = [pod for pod in facts.loose if pod.metadata.deletion_timestamp is None]
    return tuple(Delete(ref=ObjectRef.to(pod)) for pod in loose)


def give_up(facts: Facts, now: float) -> Verdict:
    """No further submission: stop what is left of it, and give everything back."""
    del now
    stop: tuple[Effect, ...] = () if facts.over else (StopSubmission(job_id=facts.job.status.job_id),)
    if facts.unit.policy.requeue is Requeue.IMPOSSIBLE:
        why = "this KubeRay would delete the shared cluster to run it again (1.6 does not)"
    else:
        why = f"it was requeued {facts.requeues} time(s), which is all it may"
    return verdict("RequeuesExhausted", f"{_why(facts)}; {why}", *stop, *without_workers(facts))


def _why(facts: Facts) -> str:
    said = facts.admission
    if facts.unit.jobset is None:
        return "its JobSet is gone"
    if facts.withdrawn:
        return said.eviction or f"{said.reason}: {said.message}" if said.reason else "its capacity is gone"
    return f"it failed after a worker was lost; its last words: {facts.words or 'none'}"
