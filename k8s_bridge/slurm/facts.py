"""Facts about a unit that the rows of the decision table test. Pure, computed once per decision.

Generations: a Slurm node is *live* when a pod of its name exists, is not terminating and has not ended.
Node names are pod names, so an old generation can never be mistaken for the new one.
"""

from __future__ import annotations

from api.views import Pod
from k8s_bridge.core import naming
from k8s_bridge.core.admission import Admission, Capacity, admission_of, condition
from k8s_bridge.core.lazy import lazy
from k8s_bridge.slurm.eligibility import REASONS, Obstacle, obstacle
from k8s_bridge.slurm.hostlist import expand
from k8s_bridge.slurm.layout.features import user_expression
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.pods import ENDED
from k8s_bridge.slurm.unit import Presence, Unit

TEXT_PREFIX = "k8s-bridge: "
_NOT_OUR_HOLD = frozenset({"Released", "HeldByOther", "Ending", "PastKueue"})
"""What is said only of jobs that we do not hold."""
CLAIM = f"{TEXT_PREFIX}Holding: its hold is being made the bridge's"
"""Says nothing of whose a hold is: where text and hold take two calls, it stands between them."""
_NOT_HELD_YET = frozenset({"Holding", "Refused", "NotManaged", *REASONS})
"""What is also said of jobs whose hold was not taken over, such as that of their submission."""


class Facts:
    """Derived truths of one unit, each computed when first asked for."""

    def __init__(self, unit: Unit, now: float) -> None:
        self.unit = unit
        self.now = now

    @lazy
    def job(self) -> Job:
        """The job record. LookupError without one: rows that read it stand below one that catches that."""
        job = self.unit.job
        if job is None:
            raise LookupError("no job record in this unit")
        return job

    @lazy
    def over(self) -> bool:
        """Slurm has forgotten the job, or it reached a final state."""
        job = self.unit.job
        return self.unit.presence is Presence.GONE or job is None or job.terminal

    @lazy
    def failed(self) -> bool:
        """Over, and not well."""
        return self.unit.job is not None and self.unit.job.failed

    @lazy
    def active(self) -> bool:
        """The job has nodes."""
        return self.job.active

    @lazy
    def free(self) -> bool:
        """Pinned to our nodes and not held: Slurm may start it there."""
        return self.pinned and not self.job.held

    @lazy
    def admission(self) -> Admission:
        """Kueue's verdict; NONE without a JobSet."""
        return admission_of(self.unit.workload if self.unit.jobset else None)

    @lazy
    def annotations(self) -> dict[str, str]:
        """The JobSet's annotations; empty without a JobSet."""
        return self.unit.jobset.metadata.annotations if self.unit.jobset else {}

    @lazy
    def feature(self) -> str:
        """The Slurm feature of this job's nodes."""
        return naming.node_feature(self.unit.job_id)

    @lazy
    def live(self) -> frozenset[str]:
        """Names of pods that are there to stay."""
        return frozenset([p.metadata.name for p in self.unit.pods if is_alive(p)])

    @lazy
    def job_nodes(self) -> tuple[str, ...]:
        """Names of the Slurm nodes that the job has now; 22.05 keeps showing the old ones after a requeue."""
        job = self.unit.job
        return expand(job.nodes) if job and job.nodes and job.active else ()

    @lazy
    def own_nodes(self) -> tuple[str, ...]:
        """Those nodes of the job that are pods of ours (by name or feature), live or not."""
        known = {n.name for n in self.unit.nodes}
        prefix = f"{self.unit.jobset.metadata.name}-" if self.unit.jobset else f"{self.feature}-"
        return tuple(n for n in self.job_nodes if n in known or n.startswith(prefix))

    @lazy
    def elsewhere(self) -> bool:
        """The job has nodes and none of them is ours."""
        return bool(self.job_nodes) and not self.own_nodes

    @lazy
    def dead(self) -> tuple[str, ...]:
        """Nodes of the job whose pod is gone, terminating or ended."""
        return tuple(name for name in self.own_nodes if name not in self.live)

    @lazy
    def surely_dead(self) -> bool:
        """A dead node's pod was seen to end; one that merely is not in the watch yet may be new."""
        ended = {p.metadata.name for p in self.unit.pods} - self.live
        return any(name in ended for name in self.dead)

    @lazy
    def stale(self) -> tuple[str, ...]:
        """Node records of ours without a live pod."""
        return tuple([n.name for n in self.unit.nodes if n.name not in self.live])

    @lazy
    def ghosts(self) -> tuple[str, ...]:
        """Stale records that are safe to delete: no pod of that name can still be on its way to us."""
        admitted = self.admission.capacity is Capacity.ADMITTED
        if not admitted or len(self.live) >= self.wanted:
            return self.stale
        down = {n.name for n in self.unit.nodes if "DOWN" in n.states}
        return tuple(name for name in self.stale if name in down)

    @lazy
    def trespassed(self) -> tuple[str, ...]:
        """Live nodes of ours that another job runs on; one that completes may do so after ours."""
        mine = set(self.job_nodes)
        return tuple(
            n.name for n in self.unit.nodes if n.occupied and n.name in self.live and n.name not in mine
        )

    @lazy
    def barren(self) -> str:
        """Why a missing pod will not be replaced by itself; "" when it will (or none is missing)."""
        for pod in self.unit.pods:
            if pod.status.phase == "Succeeded" and pod.metadata.deletion_timestamp is None:
                return f"pod {pod.metadata.name} ended with exit code 0 and will not be replaced"
        return ""

    @lazy
    def terminating(self) -> tuple[str, ...]:
        """Pods that were told to end; one on a dead node never does, and until then it is not replaced."""
        return tuple([p.metadata.name for p in self.unit.pods if p.metadata.deletion_timestamp is not None])

    @lazy
    def ready(self) -> tuple[str, ...]:
        """Registered idle nodes on live pods."""
        return tuple([n.name for n in self.unit.nodes if n.usable and n.name in self.live])

    @lazy
    def wanted(self) -> int:
        """How many nodes the JobSet makes."""
        jobset = self.unit.jobset
        if jobset is None:
            return 0
        return sum([rj.replicas * rj.template.spec.parallelism for rj in jobset.spec.replicated_jobs])

    @lazy
    def pinned(self) -> bool:
        """The job's constraint expression names our feature."""
        return self.unit.job is not None and is_pinned(self.job.features, self.feature)

    @lazy
    def user_constraints(self) -> str:
        """The constraint expression as the user wants it, without our feature."""
        return user_expression(self.job.features, job_id=self.unit.job_id)

    @lazy
    def released_on(self) -> str:
        """The uid of the Workload that we recorded at release; "" while we hold the job."""
        return self.annotations.get(naming.RELEASED_ON, "")

    @lazy
    def released_nodes(self) -> frozenset[str]:
        """Node names that we recorded at release."""
        text = self.annotations.get(naming.PINNED_NODES, "")
        return frozenset(text.split(",")) if text else frozenset()

    @lazy
    def emptied(self) -> bool:
        """A node that it was released onto has no record any more, or is down: its pod's slurmd is silent."""
        there = {n.name for n in self.unit.nodes if "DOWN" not in n.states}
        return not (self.released_nodes & self.live) <= there

    @lazy
    def requeues(self) -> int:
        """How often the job was sent back; by Slurm's own count where no JobSet is left to tell."""
        job = self.unit.job
        text = self.annotations.get(naming.REQUEUES, "")
        return int(text) if text.isdecimal() else (job.restart_count if job else 0)

    @lazy
    def obstacle(self) -> Obstacle | None:
        """What keeps Slurm from starting the job, whatever capacity it has."""
        return obstacle(self.job, self.unit.surroundings, now=self.now)

    @lazy
    def ours_by_text(self) -> bool:
        """admin_comment carries our mark: the hold on the job is (or was) ours. Its owner cannot write it."""
        return self.job.admin_comment.startswith(TEXT_PREFIX)

    @lazy
    def outdated(self) -> bool:
        """The JobSet is not (any more) what one would be made as now."""
        have, now = self.annotations.get(naming.SHAPE, self.unit.shape), self.unit.shape
        return naming.RETAIN_UNTIL in self.annotations or (bool(now) and have != now)

    @lazy
    def withdrawn(self) -> bool:
        """Kueue took the capacity that the job was released on, even if new capacity is there already."""
        admission = self.admission
        if admission.capacity is not Capacity.ADMITTED:
            return True
        if self.unit.jobset is None or self.unit.jobset.spec.suspend:
            return True
        if not self.released_on or self.released_on == admission.workload_uid:
            return False
        return not self.job_nodes or bool(self.released_nodes.intersection(self.job_nodes))

    @lazy
    def same_job(self) -> bool:
        """The JobSet was made for this very job, not for an older one of the same id."""
        if self.unit.jobset is None or self.unit.job is None:
            return True
        return same_identity(self.annotations.get(naming.IDENTITY, ""), self.job)

    @lazy
    def jobset_failed(self) -> str:
        """The message of a JobSet that has ended although the job has not; "" otherwise."""
        jobset = self.unit.jobset
        if jobset is None or not jobset.status.terminal_state:
            return ""
        kind = jobset.status.terminal_state
        found = condition(jobset.status.conditions, kind)
        return f"JobSet {kind}: {found.message if found else ''}".rstrip(": ")


def identity(job: Job) -> str:
    """The anchor kept on the JobSet: submit time and restarts at creation, and the owner."""
    return f"{job.submit_time}.{job.restart_count}.{job.user_id}"


def same_identity(anchor: str, job: Job) -> bool:
    """A requeue changes submit_time but raises restart_count; a reused id starts again at zero."""
    if anchor == identity(job):
        return True
    try:
        submit, restarts, user = (int(part) for part in anchor.split("."))
    except ValueError:
        return False
    if user != job.user_id:
        return False
    return submit == job.submit_time or job.restart_count > restarts


def held_against_text(job: Job) -> bool:
    """Held otherwise than our text says, which changes in the same call as our hold.

    So it was held by somebody else; only BadConstraints is a hold of Slurm's own, which it takes off again.
    Our hold is an admin's, and what became a user's after it is not ours any more.
    """
    if not job.held or not job.admin_comment.startswith(TEXT_PREFIX):
        return False
    word = _word(job.admin_comment)
    if word in _NOT_OUR_HOLD:
        return job.reason != "BadConstraints"
    return word not in _NOT_HELD_YET and job.reason == "JobHeldUser"


def denies_our_hold(job: Job, text: str) -> bool:
    """The text is said only of jobs that we do not hold, but this one we do: it started as we held it.

    Under that text the hold would pass for somebody else's, should the job wait again.
    """
    ours = job.admin_comment.startswith(TEXT_PREFIX) and _word(job.admin_comment) not in _NOT_OUR_HOLD
    return ours and job.held and not job.pending and _word(text) in _NOT_OUR_HOLD


def _word(text: str) -> str:
    return text.removeprefix(TEXT_PREFIX).partition(":")[0]


def pin(constraints: str, feature: str) -> str:
    """The user's constraint expression joined with our feature."""
    return f"({constraints})&{feature}" if constraints else feature


def is_pinned(constraints: str, feature: str) -> bool:
    """Whether the expression ends in our feature."""
    return constraints == feature or constraints.endswith(f"&{feature}")


def is_alive(pod: Pod) -> bool:
    """Whether a pod is there to stay."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in ENDED
