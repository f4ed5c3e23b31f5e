"""Lean frozen views of the Kubernetes objects that decisions rest on.

Watches are decoded straight into these (msgspec skips every other field). They are never sent back:
writes are built as plain mappings. Absent fields take the API's own meaning of absence.
"""

from api.views.admission import AdmissionCheck, AdmissionCheckSpec, WorkloadPriorityClass
from api.views.base import Condition, Object, ObjectMeta, OwnerReference, View
from api.views.cluster_queue import (
    AdmissionChecksStrategy,
    ClusterQueue,
    ClusterQueueSpec,
    FlavorQuotas,
    Named,
    ResourceGroup,
    ResourceQuota,
)
from api.views.flavor import ResourceFlavor, ResourceFlavorSpec, Topology, TopologyLevel, TopologySpec
from api.views.jobset import JobSet, JobSetSpec, JobSetStatus, JobTemplate, JobTemplateSpec, ReplicatedJob
from api.views.local_queue import FlavorUsage, LocalQueue, LocalQueueSpec, QueueStatus, ResourceUsage
from api.views.node import Machine, NodeSpec, NodeStatus, Taint
from api.views.pod import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
)
from api.views.workload import Admission, Workload, WorkloadSpec, WorkloadStatus

__all__ = [
    "Admission",
    "AdmissionCheck",
    "AdmissionCheckSpec",
    "AdmissionChecksStrategy",
    "ClusterQueue",
    "ClusterQueueSpec",
    "Condition",
    "ContainerState",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "FlavorQuotas",
    "FlavorUsage",
    "JobSet",
    "JobSetSpec",
    "JobSetStatus",
    "JobTemplate",
    "JobTemplateSpec",
    "LocalQueue",
    "LocalQueueSpec",
    "Machine",
    "Named",
    "NodeSpec",
    "NodeStatus",
    "Object",
    "ObjectMeta",
    "OwnerReference",
    "Pod",
    "PodSpec",
    "PodStatus",
    "QueueStatus",
    "ReplicatedJob",
    "ResourceFlavor",
    "ResourceFlavorSpec",
    "ResourceGroup",
    "ResourceQuota",
    "ResourceUsage",
    "Taint",
    "Topology",
    "TopologyLevel",
    "TopologySpec",
    "View",
    "Workload",
    "WorkloadPriorityClass",
    "WorkloadSpec",
    "WorkloadStatus",
]
