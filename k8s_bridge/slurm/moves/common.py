"""What the moves share: building blocks of effects, and how long a state has lasted."""

from __future__ import annotations

from api.v1alpha1.policy import NoRequeuePolicy
from k8s_bridge.core import naming
from k8s_bridge.core.decision import Decision
from k8s_bridge.core.effects import Delete, ObjectRef, Patch
from k8s_bridge.slurm.effects import (
    AllowRequeue,
    Begin,
    Cancel,
    Effect,
    GhostsDelete,
    NodesDelete,
    NodesDown,
    Rehold,
    SetText,
)
from k8s_bridge.slurm.facts import Facts
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import Partition, State

Verdict = Decision[Effect]

LOOK_AGAIN = 1.0
"""Seconds until a fact that somebody else must change is looked at again without a delta."""
ABSENCE_GRACE = 2.0
"""Seconds that a running job's pod may be absent from the watch before it counts as lost."""
HOLD_GRACE = 30.0
"""Seconds that a foreign hold is waited out before the quota is returned."""
PREEMPTED = "Preempted: "
"""How Kueue's words begin when another workload takes the capacity."""
WITHHELD_GRACE = 5.0
"""Seconds that Slurm may withhold a released job before the quota is returned."""


def nothing(facts: Facts, now: float) -> Verdict:
    """Nothing is left to do."""
    return verdict()


def look_again(facts: Facts, now: float) -> Verdict:
    """Slurm is being asked about the job."""
    return verdict(after=LOOK_AGAIN)


def send_back(facts: Facts, *, nodes: tuple[str, ...], why: str) -> Verdict:
    """Requeue a job whose nodes are (about to be) gone; cancel it once it was sent back too often.

    DOWN requeues at once, the hold comes before Slurm could start it anew, and a slurmd that still lives
    would return its node to idle: so the records go in the same pass. The release is forgotten last: until
    then it is what shows that the capacity is another one.
    """
    job_id, limit = facts.unit.job_id, policy_of(facts).requeue_limit
    if facts.requeues >= limit:
        text = say("RequeueLimit", f"requeued {limit} times; {why}")
        return verdict(Cancel(job_id=job_id, text=text), reason="RequeueLimit", text=text)
    effects: list[Effect] = []
    if not job_of(facts).requeue:
        if policy_of(facts).no_requeue is NoRequeuePolicy.FAIL:
            return fail(facts, nodes=nodes, why=why)
        effects.append(AllowRequeue(job_id=job_id))
    if nodes:
        effects.append(NodesDown(nodes=nodes, reason=f"k8s-bridge: {why}"[:200]))
        hold = Rehold(
            job_id=job_id,
            constraints=facts.user_constraints,
            begin=Begin.AT_ONCE,
            text=say("Requeued", why),
        )
        effects.append(hold)
        effects.append(NodesDelete(nodes=nodes))
    forget = forget_release(facts, requeues=facts.requeues + 1)
    return verdict(*effects, *forget, reason="Requeued", text=why, after=LOOK_AGAIN)


def fail(facts: Facts, *, nodes: tuple[str, ...], why: str) -> Verdict:
    """Let Slurm fail a --no-requeue job, after saying why."""
    text = say("NotRequeued", f"--no-requeue, so Slurm fails it; {why}")
    down = NodesDown(nodes=nodes, reason=text[:200])
    return verdict(SetText(job_id=facts.unit.job_id, text=text), down, reason="NotRequeued", text=text)


def record_release(facts: Facts) -> tuple[Effect, ...]:
    """Write the release down if it is not, or if the job moved to new capacity by itself."""
    nodes = facts.own_nodes or facts.ready
    current = facts.admission.workload_uid
    if facts.unit.jobset is None or facts.released_on == current or not nodes:
        return ()
    return record(facts, nodes)


def record(facts: Facts, nodes: tuple[str, ...]) -> tuple[Effect, ...]:
    """The patch that ties the job to the Workload and the nodes it was released on."""
    return (
        annotate(
            facts,
            {
                naming.RELEASED_ON: facts.admission.workload_uid,
                naming.PINNED_NODES: ",".join(sorted(nodes)),
                naming.PARKED: None,
            },
        ),
    )


def eviction(facts: Facts) -> str:
    """Why Kueue took the capacity back: in its own words, where it said so."""
    said = facts.admission.eviction
    if said.startswith(PREEMPTED):
        return f"preempted: {said.removeprefix(PREEMPTED)}"
    return f"evicted: {said or 'its Workload was replaced, or its JobSet suspended'}"


def forget_release(facts: Facts, *, requeues: int) -> tuple[Effect, ...]:
    """The patch that unties it, with the count of requeues; nothing when nothing was recorded."""
    if not facts.released_on:
        return ()
    return (
        annotate(
            facts,
            {
                naming.RELEASED_ON: None,
                naming.PINNED_NODES: None,
                naming.REQUEUES: str(requeues),
            },
        ),
    )


def annotate(facts: Facts, annotations: dict[str, str | None]) -> Patch:
    """A patch of the JobSet's annotations; None deletes one."""
    jobset = facts.unit.jobset
    if jobset is None:
        raise LookupError("annotations are kept on the JobSet")
    return Patch(ref=ObjectRef.to(jobset), patch={"metadata": {"annotations": annotations}})


def delete_jobset(facts: Facts) -> tuple[Effect, ...]:
    """Delete the JobSet unless that is under way."""
    jobset = facts.unit.jobset
    if jobset is None or jobset.metadata.deletion_timestamp is not None:
        return ()
    return (Delete(ref=ObjectRef.to(jobset)),)


def delete_ghosts(facts: Facts) -> tuple[Effect, ...]:
    """Delete node records that no pod can stand behind any more."""
    return (GhostsDelete(nodes=facts.ghosts),) if facts.ghosts else ()


def delete_stale_without_jobset(facts: Facts) -> tuple[Effect, ...]:
    """Delete records left from an earlier JobSet of this job."""
    return (GhostsDelete(nodes=facts.stale),) if facts.stale else ()


def policy_of(facts: Facts) -> Partition:
    """The partition's policy; defaults when the partition is not managed any more."""
    return facts.unit.partition or Partition(name="", queue="", priority_class="")


def since(facts: Facts, state: State, now: float) -> float:
    """When the state began; now if it is new."""
    seen = facts.unit.seen
    return seen.since if seen and seen.state is state else now


def lasted(facts: Facts, state: State, seconds: float, now: float) -> bool:
    """Whether the unit has been in the state for so many seconds."""
    return now - since(facts, state, now) >= seconds


def time_left(facts: Facts, state: State, seconds: float, now: float) -> float:
    """Seconds until the state has lasted that long, at least a tenth."""
    return max(0.1, since(facts, state, now) + seconds - now)


def job_of(facts: Facts) -> Job:
    """The job record; a fault of the table if there is none."""
    job = facts.unit.job
    if job is None:
        raise LookupError("this move belongs to a state with a job record")
    return job


def verdict(*effects: Effect, reason: str = "", text: str = "", after: float | None = None) -> Verdict:
    """A decision whose state the table fills in."""
    return Decision(state="", effects=effects, reason=reason, text=text, after=after)
