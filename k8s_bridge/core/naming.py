"""Every name, label, annotation and field manager that the bridges write, in one place."""

from __future__ import annotations

import re

GROUP = "k8s-bridge.x-k8s.io"
FIELD_MANAGER = "k8s-bridge"

MANAGED_BY = f"{GROUP}/managed-by"
SLURM_JOB_ID = f"{GROUP}/slurm-job-id"
SLURM_ARRAY_SLOT = f"{GROUP}/slurm-array-slot"
"""Label: number of the slot of a job array that a JobSet or pod is made for."""
WORKLOADMIXING = f"{GROUP}/workloadmixing"
CLUSTER = f"{GROUP}/cluster"
PARTITION = f"{GROUP}/partition"
ACCOUNT = f"{GROUP}/account"
QOS = f"{GROUP}/qos"
USER = f"{GROUP}/user"

DRAIN_FINALIZER = f"{GROUP}/drain"
"""On a WorkloadMixing whose deletion waits until nothing of it is left."""

IDENTITY = f"{GROUP}/identity"
"""Annotation: the first-submit anchor, `<submit_time>.<restart_count>.<user_id>` at creation."""
CONSTRAINTS = f"{GROUP}/user-constraints"
"""Annotation: the constraint expression as the user gave it ("" when none)."""
RELEASED_ON = f"{GROUP}/released-on"
"""Annotation: uid of the Workload that the job was last released on; absent while we hold the job."""
PINNED_NODES = f"{GROUP}/pinned-nodes"
"""Annotation: the Slurm node names that the job was released onto, comma-separated."""
REQUEUES = f"{GROUP}/requeues"
"""Annotation: how often eviction or loss sent the job back to the queue."""
SHAPE = f"{GROUP}/shape"
"""Annotation: digest of the layout and the policy that the JobSet was rendered from."""
DEADLINE = f"{GROUP}/deadline-seconds"
"""Annotation: activeDeadlineSeconds of the JobSet's Jobs as last written; absent when they have none."""
PARKED = f"{GROUP}/parked"
"""Annotation: `<unix time until> <count> <Reason>` while we keep the Workload inactive."""
PARKINGS = f"{GROUP}/parkings"
"""Annotation: how often quota was given back so far."""
PRIORITY = f"{GROUP}/priority"
"""Annotation: the priority that the job's owner asked for and its Workload was given; absent without one."""
RETAIN_UNTIL = f"{GROUP}/retain-until"
"""Annotation: Unix time until which a failed job's JobSet is kept (without quota)."""

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"

_JOBSET = "slurm-job-"
_FEATURE = re.compile(r"nodes-for-(\d+)")
_SLOT_FEATURE = re.compile(r"nodes-for-(\d+)-s(\d+)")
_LABEL_BAD = re.compile(r"[^A-Za-z0-9_.-]+")
_LABEL_MAX = 63


def jobset_name(job_id: int, *, cluster: str = "", slot: int | None = None) -> str:
    """`slurm-job-<id>`, of a slot `slurm-job-<id>-s<number>`.

    With a cluster key when one namespace serves more than one Slurm cluster.
    """
    name = f"{_JOBSET}{cluster}-{job_id}" if cluster else f"{_JOBSET}{job_id}"
    return name if slot is None else f"{name}-s{slot}"


def is_jobset_name(name: str, unit: str) -> bool:
    """Whether it is the name of the JobSet of a unit, such as `7` or `7-s0`, on whatever cluster."""
    rest = name.removeprefix(_JOBSET)
    on_a_cluster = rest.endswith(f"-{unit}") and len(rest) > len(unit) + 1
    return rest != name and (rest == unit or on_a_cluster)


def node_feature(job_id: int) -> str:
    """The Slurm feature that a job's nodes carry and that the job is pinned to."""
    return f"nodes-for-{job_id}"


def slot_feature(job_id: int, slot: int) -> str:
    """The Slurm feature that the nodes of one slot of a job array carry beside that of the array."""
    return f"{node_feature(job_id)}-s{slot}"


def component_feature(job_id: int, offset: int) -> str:
    """The Slurm feature that the nodes of one component of a heterogeneous job carry beside the job's."""
    return f"{node_feature(job_id)}-c{offset}"


def mixing_feature(namespace: str, name: str) -> str:
    """The Slurm feature by which one WorkloadMixing knows its nodes among those of others on one Slurm."""
    return f"by-{namespace}.{name}"


def job_of_feature(feature: str) -> int | None:
    """The job id in a feature that we gave, or None for any other feature."""
    match = _FEATURE.fullmatch(feature)
    return int(match.group(1)) if match else None


def slot_of_feature(feature: str) -> tuple[int, int] | None:
    """(job id, slot) in a slot's feature, or None for any other feature."""
    match = _SLOT_FEATURE.fullmatch(feature)
    return (int(match.group(1)), int(match.group(2))) if match else None


def label_value(text: str) -> str:
    """`text` made fit for a label value: bad characters become "-", ends are trimmed, at most 63 long."""
    return _LABEL_BAD.sub("-", text)[:_LABEL_MAX].strip("-_.")
