"""Lean frozen views of the Kubernetes objects that decisions rest on.

Watches are decoded straight into these (msgspec skips every other field). They are never sent back:
writes are built as plain mappings. Absent fields take the API's own meaning of absence.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec


class View(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """Base of all views: immutable, camelCase on the wire."""


class OwnerReference(View, frozen=True):
    """metadata.ownerReferences[]."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(View, frozen=True):
    """metadata, without managedFields."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(View, frozen=True):
    """A condition as metav1 defines it; `status` is "True", "False" or "Unknown"."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class Object(View, frozen=True):
    """What every stored object has. `GVR` = (group, version, plural); group "" is core."""

    GVR: ClassVar[tuple[str, str, str]]
    KIND: ClassVar[str]
    NAMESPACED: ClassVar[bool] = True

    metadata: ObjectMeta

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` of a cluster-scoped object."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


class JobTemplateSpec(View, frozen=True):
    """spec.replicatedJobs[].template.spec."""

    parallelism: int = 1
    completions: int | None = None


class JobTemplate(View, frozen=True):
    """spec.replicatedJobs[].template."""

    spec: JobTemplateSpec = JobTemplateSpec()


class ReplicatedJob(View, frozen=True):
    """spec.replicatedJobs[]."""

    name: str
    replicas: int = 1
    template: JobTemplate = JobTemplate()


class JobSetSpec(View, frozen=True):
    """JobSet.spec."""

    suspend: bool = False
    replicated_jobs: tuple[ReplicatedJob, ...] = ()


class JobSetStatus(View, frozen=True):
    """JobSet.status; `terminal_state` is "", "Completed" or "Failed"."""

    conditions: tuple[Condition, ...] = ()
    terminal_state: str = ""
    restarts: int = 0


class JobSet(Object, frozen=True):
    """jobset.x-k8s.io JobSet."""

    GVR = ("jobset.x-k8s.io", "v1alpha2", "jobsets")
    KIND = "JobSet"

    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()


class WorkloadSpec(View, frozen=True):
    """Workload.spec."""

    queue_name: str = ""
    priority: int = 0
    active: bool = True


class Admission(View, frozen=True):
    """Workload.status.admission."""

    cluster_queue: str = ""


class WorkloadStatus(View, frozen=True):
    """Workload.status."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None


class Workload(Object, frozen=True):
    """kueue.x-k8s.io Workload."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "workloads")
    KIND = "Workload"

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class ContainerStateWaiting(View, frozen=True):
    """containerStatuses[].state.waiting."""

    reason: str = ""
    message: str = ""


class ContainerStateTerminated(View, frozen=True):
    """containerStatuses[].state.terminated."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(View, frozen=True):
    """containerStatuses[].state: at most one of the fields is set; running = neither."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(View, frozen=True):
    """status.containerStatuses[]."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodSpec(View, frozen=True):
    """Pod.spec."""

    node_name: str = ""
    termination_grace_period_seconds: int = 30


class PodStatus(View, frozen=True):
    """Pod.status."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    pod_i_p: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object, frozen=True):
    """v1 Pod."""

    GVR = ("", "v1", "pods")
    KIND = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(View, frozen=True):
    """Node.spec.taints[]."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(View, frozen=True):
    """Node.spec."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View, frozen=True):
    """Node.status."""

    conditions: tuple[Condition, ...] = ()


class Node(Object, frozen=True):
    """v1 Node."""

    GVR = ("", "v1", "nodes")
    KIND = "Node"
    NAMESPACED = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class LocalQueueSpec(View, frozen=True):
    """LocalQueue.spec."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class ResourceUsage(View, frozen=True):
    """How much of a resource is reserved; a quantity."""

    name: str = ""
    total: str | int = 0


class FlavorUsage(View, frozen=True):
    """What is reserved of one flavor."""

    name: str = ""
    resources: tuple[ResourceUsage, ...] = ()


class QueueStatus(View, frozen=True):
    """status of a LocalQueue or ClusterQueue."""

    conditions: tuple[Condition, ...] = ()
    pending_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: tuple[FlavorUsage, ...] = ()


class LocalQueue(Object, frozen=True):
    """kueue.x-k8s.io LocalQueue."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "localqueues")
    KIND = "LocalQueue"

    spec: LocalQueueSpec = LocalQueueSpec()
    status: QueueStatus = QueueStatus()


class Named(View, frozen=True):
    """Whatever is told of by its name alone."""

    name: str = ""


class ResourceQuota(View, frozen=True):
    """The nominal quota of a resource; a quantity."""

    name: str = ""
    nominal_quota: str | int = 0


class FlavorQuotas(Named, frozen=True):
    """What a ClusterQueue has of one flavor."""

    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(View, frozen=True):
    """The flavors that one group of resources can come from."""

    flavors: tuple[FlavorQuotas, ...] = ()


class AdmissionChecksStrategy(View, frozen=True):
    """The AdmissionChecks of a ClusterQueue."""

    admission_checks: tuple[Named, ...] = ()


class ClusterQueueSpec(View, frozen=True):
    """ClusterQueue.spec."""

    stop_policy: str = "None"
    resource_groups: tuple[ResourceGroup, ...] = ()
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()


class ClusterQueue(Object, frozen=True):
    """kueue.x-k8s.io ClusterQueue."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "clusterqueues")
    KIND = "ClusterQueue"
    NAMESPACED = False

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: QueueStatus = QueueStatus()


class ResourceFlavorSpec(View, frozen=True):
    """ResourceFlavor.spec."""

    topology_name: str = ""


class ResourceFlavor(Object, frozen=True):
    """kueue.x-k8s.io ResourceFlavor."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "resourceflavors")
    KIND = "ResourceFlavor"
    NAMESPACED = False

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class TopologyLevel(View, frozen=True):
    """One level of a Topology: nodes with one value of this label belong together."""

    node_label: str = ""


class TopologySpec(View, frozen=True):
    """Topology.spec."""

    levels: tuple[TopologyLevel, ...] = ()


class Topology(Object, frozen=True):
    """kueue.x-k8s.io Topology."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "topologies")
    KIND = "Topology"
    NAMESPACED = False

    spec: TopologySpec = TopologySpec()


class AdmissionCheckSpec(View, frozen=True):
    """AdmissionCheck.spec."""

    controller_name: str = ""


class AdmissionCheck(Object, frozen=True):
    """kueue.x-k8s.io AdmissionCheck."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "admissionchecks")
    KIND = "AdmissionCheck"
    NAMESPACED = False

    spec: AdmissionCheckSpec = AdmissionCheckSpec()


class WorkloadPriorityClass(Object, frozen=True):
    """kueue.x-k8s.io WorkloadPriorityClass."""

    GVR = ("kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses")
    KIND = "WorkloadPriorityClass"
    NAMESPACED = False

    value: int = 0
