"""Labels and annotations of a JobSet and its pods."""

from __future__ import annotations

from k8s_bridge.core import naming
from k8s_bridge.slurm.jobset.policy import Policy
from k8s_bridge.slurm.layout.digest import digest
from k8s_bridge.slurm.layout.features import user_expression
from k8s_bridge.slurm.layout.types import Layout
from k8s_bridge.slurm.model import Job

REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
_MINUTE = 60


def labels(job: Job, *, policy: Policy, slot: int | None = None) -> dict[str, str]:
    """The labels by which JobSets and pods are found and joined with Slurm; empty values are left out."""
    texts = {
        naming.MANAGED_BY: "k8s-bridge",
        naming.SLURM_JOB_ID: str(job.unit_id),
        naming.SLURM_ARRAY_SLOT: "" if slot is None else str(slot),
        naming.WORKLOADMIXING: policy.mixing,
        naming.CLUSTER: policy.cluster.name,
        naming.PARTITION: job.partition,
        naming.ACCOUNT: job.account,
        naming.QOS: job.qos,
        naming.USER: job.user_name,
    }
    values = {key: naming.label_value(text) for key, text in texts.items()}
    return {key: value for key, value in values.items() if value}


def queue_labels(policy: Policy) -> dict[str, str]:
    """Kueue's labels; on the JobSet alone, since Kueue would queue a labelled pod by itself.

    There is no max-exec-time: Kueue adds up the time of all admissions, and Slurm gives a requeued job its
    whole time limit again.
    """
    chosen = {naming.QUEUE_NAME: policy.queue, naming.PRIORITY_CLASS: policy.priority_class}
    return {key: value for key, value in chosen.items() if value}


def deadline(layout: Layout, *, policy: Policy, slot: int | None = None) -> int | None:
    """Seconds from the start of the pods until they are too old for a first run; None without a limit.

    A slot has none: it runs one task after the other, and Slurm keeps each to its limit.
    """
    if slot is not None:
        return None
    return None if layout.time_limit is None else layout.time_limit * _MINUTE + policy.deadline_slack


def shape(layout: Layout, *, policy: Policy) -> str:
    """What a JobSet was made for: while its job waits, another one means that it is of no use any more."""
    return digest(layout) + policy.digest


def first_annotations(job: Job, *, layout: Layout, policy: Policy, slot: int | None = None) -> dict[str, str]:
    """The state at creation; later changes are merge patches of single annotations."""
    seconds = deadline(layout, policy=policy, slot=slot)
    return {
        naming.IDENTITY: f"{job.submit_time}.{job.restart_count}.{job.user_id}",
        naming.CONSTRAINTS: user_expression(job.features, job_id=job.unit_id),
        naming.SHAPE: shape(layout, policy=policy),
        naming.REQUEUES: str(job.restart_count),
        **({} if seconds is None else {naming.DEADLINE: str(seconds)}),
    }


def topology(job: Job, *, policy: Policy) -> dict[str, str]:
    """Kueue's topology request of each pod set: the required level for --switches, else the preferred one."""
    if job.required_switches and policy.required_topology:
        return {REQUIRED_TOPOLOGY: policy.required_topology}
    return {PREFERRED_TOPOLOGY: policy.preferred_topology} if policy.preferred_topology else {}
