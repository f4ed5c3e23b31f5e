"""The reflectors that fill the Kubernetes tables of one WorkloadMixing."""

from __future__ import annotations

import asyncio
from typing import Any

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
from k8s_bridge.slurm.tables import Tables


class Sources:
    """All watches that a bridge needs, as one thing to run and to ask whether it has synced."""

    def __init__(self, client: KubeClient, tables: Tables, *, namespace: str, mixing: str) -> None:
        ours = f"{naming.MANAGED_BY}=k8s-bridge,{naming.WORKLOADMIXING}={naming.label_value(mixing)}"
        self._reflectors: dict[str, Reflector[Any]] = {
            "JobSets": Reflector(client, JobSet, tables.jobsets, namespace=namespace, label_selector=ours),
            "Pods": Reflector(client, Pod, tables.pods, namespace=namespace, label_selector=ours),
            "Workloads": Reflector(client, Workload, tables.workloads, namespace=namespace),
            "LocalQueues": Reflector(client, LocalQueue, tables.local_queues, namespace=namespace),
            "ClusterQueues": Reflector(client, ClusterQueue, tables.cluster_queues),
            "WorkloadPriorityClasses": Reflector(client, WorkloadPriorityClass, tables.classes),
            "AdmissionChecks": Reflector(client, AdmissionCheck, tables.checks),
            "ResourceFlavors": Reflector(client, ResourceFlavor, tables.flavors),
            "Topologies": Reflector(client, Topology, tables.topologies),
        }

    def missing(self) -> str:
        """The kinds that have not been listed yet; "" when all have."""
        return ", ".join(kind for kind, one in self._reflectors.items() if not one.synced.is_set())

    async def synced(self) -> None:
        """Wait until everything was listed once."""
        for one in self._reflectors.values():
            await one.synced.wait()

    async def run(self) -> None:
        """Watch until `stop`."""
        await asyncio.gather(*(one.run() for one in self._reflectors.values()))

    def stop(self) -> None:
        """Make `run` return."""
        for one in self._reflectors.values():
            one.stop()
