"""What follows from a unit: computed once for all rows of the table. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from api.ray_views import RayJob, Submitter
from api.views import Pod
from k8s_bridge.core.admission import Admission, Capacity, admission_of, condition, is_true
from k8s_bridge.core.lazy import lazy
from k8s_bridge.ray import names
from k8s_bridge.ray.release import Release, youngest
from k8s_bridge.ray.unit import State, Unit
from k8s_bridge.ray.words import last_words

SUCCEEDED, FAILED = "SUCCEEDED", "FAILED"
_OVER_IN_RAY = frozenset({SUCCEEDED, FAILED, "STOPPED"})
_INVALID = "ValidationFailed"
_OVER = frozenset({"Complete", "Failed", _INVALID})
_CLOSED = frozenset({State.FINISHED, State.DONE})
_READY = "ready"
_ENDED = frozenset({"Succeeded", "Failed"})


class Facts:
    """Facts about one unit."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    @property
    def job(self) -> RayJob:
        """The RayJob; only where there is one."""
        assert self.unit.job is not None
        return self.unit.job

    @lazy
    def annotations(self) -> Mapping[str, str]:
        """Of the RayJob."""
        return self.unit.job.metadata.annotations if self.unit.job else {}

    @lazy
    def gone(self) -> bool:
        """The RayJob is deleted, or being deleted."""
        job = self.unit.job
        return job is None or job.metadata.deletion_timestamp is not None

    @property
    def inner(self) -> bool:
        """It runs in a cluster that others run in, too."""
        return bool(self.unit.job and self.unit.job.spec.cluster_selector)

    @lazy
    def admission(self) -> Admission:
        """Kueue's verdict."""
        return admission_of(self.unit.workload)

    @lazy
    def admitted(self) -> bool:
        """There is capacity."""
        return self.unit.jobset is not None and self.admission.capacity is Capacity.ADMITTED

    @lazy
    def release(self) -> Release | None:
        """What the job was last released on."""
        text = self.annotations.get(names.RELEASED)
        return Release.parse(text) if text else None

    @lazy
    def released(self) -> bool:
        """The present submission was let go."""
        return self.release is not None and self.release.job_id == self.job.status.job_id

    @lazy
    def withdrawn(self) -> bool:
        """It was let go, and its capacity is not the same any more."""
        if not self.released or self.release is None:
            return False
        return not self.admitted or not self.release.still(self.admission)

    @lazy
    def short(self) -> bool:
        """It was let go, and a worker is gone or was replaced since."""
        if not self.released or self.release is None:
            return False
        return len(self.joined) < self.wanted or youngest(self.unit.workers) > self.release.youngest

    @lazy
    def bereft(self) -> bool:
        """It was let go and lost what it ran on, capacity or a worker, before its end was seen."""
        if not self.released or self.final or self.closed:
            return False
        return self.withdrawn or (self.over and self.short)

    @lazy
    def requeuing(self) -> bool:
        """The present submission is being given up."""
        given_up = self.annotations.get(names.REQUEUING, "")
        return bool(given_up) and given_up == self.job.status.job_id

    @lazy
    def requeues(self) -> int:
        """How often the job went back to the queue."""
        return _number(self.annotations.get(names.REQUEUES, ""))

    @property
    def deadline(self) -> int:
        """Seconds for which one submission may run; 0 is for ever."""
        return _number(self.annotations.get(names.DEADLINE, ""))

    def waited(self, now: float) -> int:
        """Seconds since KubeRay took the submission up."""
        began = self.job.status.start_time
        return max(0, math.ceil(now - began.timestamp())) if began else 0

    @lazy
    def retries(self) -> int:
        """How often workers were made anew."""
        return _number(self.annotations.get(names.WORKER_RETRIES, ""))

    @property
    def over_in_ray(self) -> bool:
        """Ray says that it is over."""
        return self.job.status.job_status in _OVER_IN_RAY

    @lazy
    def over(self) -> bool:
        """KubeRay or Ray says that it is over, well or not."""
        return self.over_in_ray or self.job.status.job_deployment_status in _OVER

    @property
    def settled(self) -> bool:
        """KubeRay has seen its end."""
        return self.job.status.job_deployment_status in _OVER

    @lazy
    def words(self) -> str:
        """The end of what is said of a job that failed."""
        failed = self.job.status.job_status == FAILED or self.job.status.job_deployment_status == "Failed"
        return last_words(self.job.status.message) if failed else ""

    @lazy
    def closed(self) -> bool:
        """Its end was seen while its capacity was whole: what goes after that is given back, not lost."""
        seen = self.unit.seen
        told = (seen.state if seen else "", self.annotations.get(names.STATE, ""))
        return self.over and not _CLOSED.isdisjoint(told)

    @lazy
    def final(self) -> bool:
        """Over in a way that another submission would not mend."""
        status = self.job.status
        return status.job_status == SUCCEEDED or status.job_deployment_status == _INVALID

    @lazy
    def cluster_ready(self) -> bool:
        """The shared cluster's head can be joined."""
        cluster = self.unit.cluster
        if cluster is None or self.cluster_away or not cluster.status.head.pod_i_p:
            return False
        found = condition(cluster.status.conditions, "HeadPodReady")
        return is_true(found) if found else cluster.status.state == _READY

    @lazy
    def cluster_away(self) -> bool:
        """The shared cluster is missing, being deleted or suspended: its head does not just restart."""
        cluster = self.unit.cluster
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            return True
        return bool(cluster.spec.get("suspend"))

    @lazy
    def wanted(self) -> int:
        """How many workers the JobSet is for."""
        jobset = self.unit.jobset
        return sum(one.template.spec.parallelism for one in jobset.spec.replicated_jobs) if jobset else 0

    @lazy
    def joined(self) -> tuple[Pod, ...]:
        """Workers that are up: a worker is ready when its raylet says so."""
        return tuple([pod for pod in self.unit.workers if _up(pod)])

    @lazy
    def present(self) -> tuple[Submitter, ...]:
        """Submitters of the present submission."""
        job_id = self.job.status.job_id
        return tuple([pod for pod in self.unit.submitters if job_id and submission_of(pod) == job_id])

    @lazy
    def gated(self) -> Submitter | None:
        """The submitter of the present submission, while it is held."""
        return next((pod for pod in self.present if is_held(pod)), None)

    @lazy
    def loose(self) -> tuple[Submitter, ...]:
        """Submitters of the present submission that nothing holds, and that have not ended."""
        return tuple([pod for pod in self.present if pod.status.phase not in _ENDED and not is_held(pod)])

    @lazy
    def token(self) -> str:
        """The word that pins the job to its workers."""
        jobset = self.unit.jobset
        return jobset.metadata.annotations.get(names.TOKEN, "") if jobset else ""


def is_held(pod: Submitter) -> bool:
    """Whether a submitter has our gate."""
    return names.GATE in [gate.name for gate in pod.spec.scheduling_gates]


def submission_of(pod: Submitter) -> str:
    """The submission id that a submitter is for; "" when it does not say."""
    for container in pod.spec.containers:
        for variable in container.env:
            if variable.name == names.SUBMISSION_ID:
                return variable.value
    return ""


def _up(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is not None:
        return False
    for found in pod.status.conditions:
        if found.type == "Ready":
            return found.status == "True"
    return False


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0
