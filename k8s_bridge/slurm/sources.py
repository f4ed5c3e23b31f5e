"""The reflectors that fill the Kubernetes tables of one WorkloadMixing."""

from __future__ import annotations

from api.views import (
    AdmissionCheck,
    ClusterQueue,
    JobSet,
    LocalQueue,
    Machine,
    Pod,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from k8s_bridge.core import naming
from k8s_bridge.kube.reflector import Reflector
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.kube.watches import Watches
from k8s_bridge.slurm.tables import Tables


class Sources(Watches):
    """All watches that the bridge needs."""

    def __init__(self, client: KubeClient, tables: Tables, *, namespace: str, mixing: str) -> None:
        ours = f"{naming.MANAGED_BY}=k8s-bridge,{naming.WORKLOADMIXING}={naming.label_value(mixing)}"
        super().__init__(
            {
                "JobSets": Reflector(
                    client, JobSet, tables.jobsets, namespace=namespace, label_selector=ours
                ),
                "Pods": Reflector(client, Pod, tables.pods, namespace=namespace, label_selector=ours),
                "Nodes": Reflector(client, Machine, tables.machines),
                "Workloads": Reflector(client, Workload, tables.workloads, namespace=namespace),
                "LocalQueues": Reflector(client, LocalQueue, tables.local_queues, namespace=namespace),
                "ClusterQueues": Reflector(client, ClusterQueue, tables.cluster_queues),
                "WorkloadPriorityClasses": Reflector(client, WorkloadPriorityClass, tables.classes),
                "AdmissionChecks": Reflector(client, AdmissionCheck, tables.checks),
                "ResourceFlavors": Reflector(client, ResourceFlavor, tables.flavors),
                "Topologies": Reflector(client, Topology, tables.topologies),
            }
        )
