"""How long things take in the sandbox. Seconds throughout; the defaults were measured on a real cluster."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Delays of the controllers and kubelets (Kubernetes 1.35, Kueue 0.17, two kubelets on one machine)."""

    container_creating: float = 0.05
    """From the binding until the kubelet reports ContainerCreating."""
    container_start: float = 0.85
    """From ContainerCreating until the runtime is asked to start the container's process."""
    pod_end: float = 1.1
    """From the end of the container until the pod's phase says so."""
    pod_removal: float = 0.4
    """From the end of a deleted pod until the kubelet gives up its grace."""
    image_pull: float = 6.3
    """From ContainerCreating until a pull is known to have failed."""
    image_backoff: float = 13.0
    """From ErrImagePull to ImagePullBackOff, and between later tries."""
    job_batch: float = 1.0
    """The Job controller looks at changes of pods once in this time."""
    job_terminating: float = 5.0
    """How long a gracefully deleted pod may take to end before the Job counts it as failed."""
    job_backoff: float = 10.0
    """From the end of a failed pod to its first replacement; doubled for each further failure."""
    job_backoff_limit: float = 600.0
    """The longest such back-off."""
    requeue: float = 1.0
    """Kueue retries inadmissible Workloads this long after quota came free, all in one batch."""
    queue_status: float = 1.0
    """Kueue writes the counts of queues at most this late."""
    retry: float = 5.0
    """Kueue tries again to make a Workload that could not be made (no such priority class)."""
    ungate: float = 1.0
    """From a pod's creation until Kueue takes its topology gate away."""
    node_grace: float = 12.0
    """From a node's last sign of life until it is NotReady and tainted."""
    toleration: float = 300.0
    """How long pods without a toleration of their own stay on an unreachable node."""
    pod_gc: float = 40.0
    """From a node's deletion until the pods that were on it are collected."""

    def scaled(self, factor: float) -> Timing:
        """The same proportions, `factor` times as long."""
        return Timing(**{f.name: getattr(self, f.name) * factor for f in fields(self)})


REALISTIC = Timing()
FAST = REALISTIC.scaled(0.02)
