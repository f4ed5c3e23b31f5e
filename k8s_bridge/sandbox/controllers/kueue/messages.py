"""The sentences Kueue writes, word for word."""

from __future__ import annotations

from enum import StrEnum

from k8s_bridge.sandbox.controllers.kueue.model import ClusterQueue, Workload
from k8s_bridge.sandbox.controllers.quantity import text

ADMITTED = "The workload is admitted"
NO_RESERVATION = "The workload has no reservation"
NO_RESERVATION_NOR_CHECKS = "The workload has no reservation and not all checks ready"
CHECK_FALSE = "At least one admission check is false"
BACKOFF_FINISHED = "The workload backoff was finished"
DEACTIVATED = "The workload is deactivated"
REACTIVATED = "The workload was reactivated"
CLUSTER_QUEUE_STOPPED = "The ClusterQueue is stopped"
CLUSTER_QUEUE_RESTARTED = "The ClusterQueue was restarted after being stopped"
LOCAL_QUEUE_STOPPED = "The LocalQueue is stopped"
LOCAL_QUEUE_RESTARTED = "The LocalQueue was restarted after being stopped"
OUTRUN = "Workload no longer fits after processing another workload"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
WORKLOAD_DELETED = "Workload is deleted"
NOT_ADMITTED = "Not admitted by cluster queue"


class PreemptionReason(StrEnum):
    """Why a Workload had to go."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT = "InCohortReclamation"


_HUMAN = {
    PreemptionReason.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    PreemptionReason.IN_COHORT: "reclamation within the cohort",
}


def previously(message: str) -> str:
    """What becomes of an eviction's text when quota is reserved again."""
    return f"Previously: {message}"


def quota_reserved(queue: str) -> str:
    """The QuotaReserved condition."""
    return f"Quota reserved in ClusterQueue {queue}"


def missing(kind: str, name: str) -> str:
    """No such LocalQueue or ClusterQueue."""
    return f"{kind} {name} doesn't exist"


def inactive(kind: str, name: str) -> str:
    """A stopped or broken LocalQueue or ClusterQueue."""
    return f"{kind} {name} is inactive"


def rejected(checks: list[str]) -> str:
    """Why a Workload is to be deactivated."""
    return f"Admission check(s): {','.join(checks)}, were rejected"


def deactivated(cause: str) -> str:
    """The text of a deactivation that has a cause."""
    return f"{DEACTIVATED} due to {cause}"


def preempted(*, by: Workload, reason: PreemptionReason, at: ClusterQueue, victim: ClusterQueue) -> str:
    """Why a Workload was evicted, and for whom."""
    return (
        f"Preempted to accommodate a workload (UID: {by.uid}, JobUID: {by.job_uid}) due to {_HUMAN[reason]}; "
        f"preemptor path: {at.path}; preemptee path: {victim.path}"
    )


def priorities(*, preemptor: int, preemptee: int) -> str:
    """The tail of preemption events."""
    return (
        f"preemptor effective priority: {preemptor} (base: {preemptor}, boost: 0); "
        f"preemptee effective priority: {preemptee} (base: {preemptee}, boost: 0)"
    )


def pending_preemption(why: str, count: int) -> str:
    """The tail of a message while victims are being stopped."""
    return f"{why}. Pending the preemption of {count} workload(s)"


def not_assigned(pod_set: str, reasons: list[str]) -> str:
    """Why no flavor could be given to a pod set."""
    return f"couldn't assign flavors to pod set {pod_set}: {', '.join(sorted(set(reasons)))}"


def lacking(resource: str, flavor: str, amount: int) -> str:
    """Others use the quota."""
    more = text(resource, amount)
    return f"insufficient unused quota for {resource} in flavor {flavor}, {more} more needed"


def beyond(resource: str, flavor: str, *, before: int, request: int, capacity: int) -> str:
    """It would not fit into the empty queue either."""
    earlier, wanted, most = (text(resource, n) for n in (before, request, capacity))
    return (
        f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
        f"({earlier}) + current podset request ({wanted}) > maximum capacity ({most})"
    )


def uncovered(resource: str) -> str:
    """The queue has no quota of that name at all."""
    return f"resource {resource} unavailable in ClusterQueue"


def no_flavor(name: str) -> str:
    """The queue names a ResourceFlavor that is not there."""
    return f"flavor {name} not found"


def wrong_affinity(name: str) -> str:
    """The pods select other nodes than the flavor's."""
    return f"flavor {name} doesn't match node affinity"


def no_topology(name: str) -> str:
    """A topology is asked for on a flavor that has none."""
    return f'Flavor "{name}" does not support TopologyAwareScheduling'


def topology_only(name: str) -> str:
    """No topology is asked for on a flavor that needs it."""
    return f'Flavor "{name}" supports only TopologyAwareScheduling'


def topology_short(topology: str, *, fitting: int, wanted: int) -> str:
    """No domain is large enough."""
    if fitting == 0:
        return f'topology "{topology}" doesn\'t allow to fit any of {wanted} pod(s)'
    return f'topology "{topology}" allows to fit only {fitting} out of {wanted} pod(s)'
