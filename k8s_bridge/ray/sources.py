"""The reflectors that fill the tables of one WorkloadMixing."""

from __future__ import annotations

from api.ray_views import RayCluster, RayJob, Submitter
from api.views import (
    AdmissionCheck,
    ClusterQueue,
    JobSet,
    LocalQueue,
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
from k8s_bridge.ray import names
from k8s_bridge.ray.tables import Tables


class Sources(Watches):
    """All watches that the bridge needs."""

    def __init__(self, client: KubeClient, tables: Tables, *, namespace: str, mixing: str) -> None:
        ours = f"{names.MANAGED_BY}={names.MANAGER},{names.WORKLOADMIXING}={naming.label_value(mixing)}"
        held = f"{names.SUBMITTER}=true"
        super().__init__(
            {
                "RayJobs": Reflector(client, RayJob, tables.jobs, namespace=namespace),
                "RayClusters": Reflector(client, RayCluster, tables.clusters, namespace=namespace),
                "JobSets": Reflector(
                    client, JobSet, tables.jobsets, namespace=namespace, label_selector=ours
                ),
                "Workers": Reflector(client, Pod, tables.workers, namespace=namespace, label_selector=ours),
                "Submitters": Reflector(
                    client, Submitter, tables.submitters, namespace=namespace, label_selector=held
                ),
                "Workloads": Reflector(client, Workload, tables.workloads, namespace=namespace),
                "LocalQueues": Reflector(client, LocalQueue, tables.local_queues, namespace=namespace),
                "ClusterQueues": Reflector(client, ClusterQueue, tables.cluster_queues),
                "AdmissionChecks": Reflector(client, AdmissionCheck, tables.checks),
                "ResourceFlavors": Reflector(client, ResourceFlavor, tables.flavors),
                "Topologies": Reflector(client, Topology, tables.topologies),
                "WorkloadPriorityClasses": Reflector(client, WorkloadPriorityClass, tables.classes),
            }
        )
