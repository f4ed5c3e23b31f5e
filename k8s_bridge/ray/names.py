"""Every name, label and annotation of the Ray bridge, in one place."""

from __future__ import annotations

import hashlib

PREFIX = "ray-bridge.x-k8s.io"

POOL = f"{PREFIX}/pool"
WORKERS = f"{PREFIX}/workers"
WORKER_CPUS = f"{PREFIX}/worker-cpus"
WORKER_GPUS = f"{PREFIX}/worker-gpus"
WORKER_MEMORY = f"{PREFIX}/worker-memory"
LOCAL_QUEUE = f"{PREFIX}/local-queue"
REQUIRED_TOPOLOGY = f"{PREFIX}/required-topology"
MAX_REQUEUES = f"{PREFIX}/max-requeues"
ASKED = (
    POOL,
    WORKERS,
    WORKER_CPUS,
    WORKER_GPUS,
    WORKER_MEMORY,
    LOCAL_QUEUE,
    REQUIRED_TOPOLOGY,
    MAX_REQUEUES,
)
"""Annotations that a job's owner writes; frozen once the job is accepted."""

ACCEPTED = f"{PREFIX}/accepted"
"""Annotation, written at admission: `as-given`, or `suspended` where the owner asked for that."""
DEADLINE = f"{PREFIX}/active-deadline-seconds"
"""Annotation, written at admission: the job's activeDeadlineSeconds; KubeRay is told with each release."""
RELEASED = f"{PREFIX}/released"
"""Annotation: what the job was last released on, see `release.Release`."""
REQUEUING = f"{PREFIX}/requeuing"
"""Annotation: the submission id that is being given up, so that KubeRay makes the next one."""
REQUEUES = f"{PREFIX}/requeues"
"""Annotation: how often eviction or loss sent the job back to the queue."""
WORKER_RETRIES = f"{PREFIX}/worker-retries"
"""Annotation: how often failed workers were made anew; `EXHAUSTED` when that was too often."""
EXHAUSTED = "exhausted"
STATE = f"{PREFIX}/state"
MESSAGE = f"{PREFIX}/message"
"""Annotations: where the job stands, and a sentence for its owner."""

MANAGED_BY = f"{PREFIX}/managed-by"
MANAGER = "ray-bridge"
RAY_JOB = f"{PREFIX}/ray-job"
RAY_JOB_UID = f"{PREFIX}/ray-job-uid"
WORKLOADMIXING = f"{PREFIX}/workloadmixing"
MANAGED_NAMESPACE = f"{PREFIX}/managed"
"""Label of namespaces in which the admission policies are in force."""
SHAPE = f"{PREFIX}/shape"
"""Annotation of a JobSet: digest of what it was made from."""
TOKEN = f"{PREFIX}/token"
"""Annotation of a JobSet: the secret word that pins the job to its workers."""

GATE = f"{PREFIX}/capacity"
"""The scheduling gate of submitters."""
RESOURCES = f"{PREFIX}/entrypoint-resources"
RUNTIME_ENV = f"{PREFIX}/runtime-env"
"""Annotations of a submitter, written with its release; its container reads them as environment."""
NODE_LABEL = f"{PREFIX}/job"
"""Label of Ray nodes: the token of the job that they are for."""
SUBMITTER = f"{PREFIX}/submitter"
"""Label of submitters that are held."""
SUBMISSION_ID = "RAY_JOB_SUBMISSION_ID"
"""Environment of a submitter, by KubeRay."""

CLUSTER_SELECTOR = "ray.io/cluster"
DEFAULT_POOL = "default"

_NAME_MAX = 45
"""Pods are called `<JobSet>-w-0-<index>-<5 random>`, which must not be longer than a label."""


def pin(token: str) -> str:
    """The custom resource that a job's workers advertise and that its driver asks for."""
    return f"ray-bridge-{token}"


def jobset_name(rayjob: str) -> str:
    """`ray-workers-<rayjob>`, cut and told apart by a digest where that is too long."""
    name = f"ray-workers-{rayjob}"
    if len(name) <= _NAME_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _NAME_MAX - 9].rstrip('-.')}-{digest}"
