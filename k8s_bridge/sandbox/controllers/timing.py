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
    kuberay_poll: float = 3.0
    """KubeRay asks a head about a job this often."""
    kuberay_cluster: float = 1.0
    """KubeRay looks again at a RayCluster whose status it has written this much later (0.1 to 2 s)."""
    kuberay_batch: float = 0.1
    """From a change of a RayCluster's pod until KubeRay looks at it."""
    kuberay_patience: float = 30.0
    """How long KubeRay waits for a job's end when its submitter has ended."""
    kuberay_transition: float = 300.0
    """How long KubeRay waits for a submitter's end when its job has ended."""
    ray_ready: float = 12.0
    """From a head container's start until its probes have found it ready."""
    ray_join: float = 5.9
    """From a worker container's start until the head calls the node alive."""
    ray_submit: float = 4.5
    """From a submitter container's start until the head has the job."""
    ray_driver: float = 2.5
    """From a node for a job's supervisor until its driver runs."""
    ray_init: float = 1.6
    """How long a driver takes to connect to its cluster."""
    ray_logs_end: float = 1.8
    """From the end of a job until whoever follows its log has ended."""
    ray_drain: float = 30.0
    """How long a node that was told to end waits for what runs there."""
    ray_leave: float = 1.0
    """How long an idle node takes to end."""
    ray_node_death: float = 40.0
    """From the death of a node with its network until its head knows (33 to 40 s)."""
    ray_node_killed: float = 14.0
    """From the death of a node's processes alone until its head knows."""
    ray_head_lost: float = 38.0
    """From the death of a head until its workers give up."""

    def scaled(self, factor: float) -> Timing:
        """The same proportions, `factor` times as long."""
        return Timing(**{f.name: getattr(self, f.name) * factor for f in fields(self)})


REALISTIC = Timing()
FAST = REALISTIC.scaled(0.02)
