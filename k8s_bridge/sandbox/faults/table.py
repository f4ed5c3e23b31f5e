"""Every fault that a world knows, one row each."""

from __future__ import annotations

from k8s_bridge.sandbox.apiserver.kinds import CLUSTERQUEUES, JOBSETS, LOCALQUEUES, WORKLOADS
from k8s_bridge.sandbox.faults import daemons, machines, queues, requests
from k8s_bridge.sandbox.faults.model import Deed, Fault, Side

_DEEDS: tuple[tuple[Side, str, str, Deed], ...] = (
    (
        Side.KUBE,
        "api-compacted",
        "etcd is compacted: old resourceVersions are answered 410 Gone.",
        daemons.compact,
    ),
    (
        Side.REST,
        "token-expired",
        "The token in the file has expired, and nobody renews it for a while.",
        daemons.expire_token,
    ),
    (Side.SLURM, "slurmctld-restarts", "slurmctld is restarted.", daemons.restart),
    (Side.SLURM, "slurmctld-away", "slurmctld is not there for a while.", daemons.away),
    (Side.SLURM, "slurmctld-ahead", "slurmctld's clock is two minutes ahead.", daemons.skew(120.0)),
    (Side.SLURM, "slurmctld-behind", "slurmctld's clock is two minutes behind.", daemons.skew(-120.0)),
    (Side.MACHINES, "pod-deleted", "A pod is deleted.", machines.delete_pod(grace_seconds=None)),
    (
        Side.MACHINES,
        "pod-vanishes",
        "A pod is deleted by force, without a goodbye.",
        machines.delete_pod(grace_seconds=0),
    ),
    (Side.MACHINES, "slurmd-crashes", "slurmd is killed, as by the OOM killer.", machines.crash),
    (Side.MACHINES, "slurmd-hangs", "slurmd is silent, and its pod runs on.", machines.hang),
    (Side.MACHINES, "machine-drained", "A Kubernetes node is drained.", machines.drain),
    (Side.MACHINES, "machine-dark", "A Kubernetes node loses power for a while.", machines.power_off),
    (
        Side.MACHINES,
        "machine-unplugged",
        "A Kubernetes node loses power, and its Node is deleted.",
        machines.unplug,
    ),
    (
        Side.KUEUE,
        "preempted",
        "A Kubernetes Job of higher priority takes the whole quota for a second.",
        queues.preempt,
    ),
    (
        Side.KUEUE,
        "queue-held",
        "The LocalQueue is stopped with Hold.",
        queues.stop_queue(LOCALQUEUES, policy="Hold"),
    ),
    (
        Side.KUEUE,
        "queue-drained",
        "The LocalQueue is stopped with HoldAndDrain.",
        queues.stop_queue(LOCALQUEUES, policy="HoldAndDrain"),
    ),
    (
        Side.KUEUE,
        "clusterqueue-drained",
        "The ClusterQueue is stopped with HoldAndDrain.",
        queues.stop_queue(CLUSTERQUEUES, policy="HoldAndDrain"),
    ),
    (Side.KUEUE, "jobset-deleted", "Somebody deletes the JobSet.", queues.delete(JOBSETS)),
    (Side.KUEUE, "workload-deleted", "Somebody deletes the Workload.", queues.delete(WORKLOADS)),
    (
        Side.KUEUE,
        "workload-deactivated",
        "Somebody deactivates the Workload for a while.",
        queues.deactivate,
    ),
    (Side.BRIDGE, "bridge-killed", "The bridge is killed with SIGKILL and started again.", daemons.kill),
    (Side.BRIDGE, "bridge-restarted", "The bridge is ended with SIGTERM and started again.", daemons.leave),
    (Side.BRIDGE, "bridge-frozen", "The bridge is stopped with SIGSTOP for a while.", daemons.freeze),
    (
        Side.BRIDGE,
        "two-leaders",
        "A second bridge works for a while as if it were the leader, too.",
        daemons.two_leaders,
    ),
)
FAULTS: tuple[Fault, ...] = (
    *requests.KUBE,
    *requests.REST,
    *(Fault(side=side, name=name, text=text, deed=deed) for side, name, text, deed in _DEEDS),
)


def named(name: str) -> Fault:
    """The fault of that name; KeyError when there is none."""
    return {fault.name: fault for fault in FAULTS}[name]
