"""The Kubernetes objects that a world begins with, and plain Jobs. Manifests only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8s_bridge.core import naming
from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import (
    CLUSTERQUEUES,
    JOBS,
    LOCALQUEUES,
    NAMESPACES,
    NODES,
    PRIORITYCLASSES,
    RESOURCEFLAVORS,
    SECRETS,
    WORKLOADMIXINGS,
    Kind,
)
from k8s_bridge.sandbox.controllers.quantity import parse, text
from k8s_bridge.sandbox.world.config import (
    AUTH_SECRET,
    BATCH,
    CLASSES,
    FLAVOR,
    HIGH,
    MIXING,
    NAMESPACE,
    NORMAL,
    TEAM_A,
    TEAM_B,
    URGENT,
    Sharing,
    WorldConfig,
)

COHORT = "everybody"
SHARED_QUEUE = "shared"
IMAGE = "slurmd:sandbox"


def beginning(config: WorldConfig) -> Iterator[tuple[Kind, Json]]:
    """All objects but the WorkloadMixing, in the order of their creation."""
    yield NAMESPACES, {"metadata": {"name": NAMESPACE}}
    yield SECRETS, _namespaced(AUTH_SECRET) | {"type": "Opaque", "data": {"slurm.key": "c2FuZGJveA=="}}
    for number in range(config.machines):
        yield NODES, _machine(f"machine-{number}", config.machine)
    yield RESOURCEFLAVORS, {"metadata": {"name": FLAVOR}, "spec": {}}
    for name, value in CLASSES.items():
        yield PRIORITYCLASSES, {"metadata": {"name": name}, "value": value}
    for name, quota in _cluster_queues(config).items():
        yield CLUSTERQUEUES, cluster_queue(name, quota, sharing=config.sharing)
    for team in (TEAM_A, TEAM_B):
        yield LOCALQUEUES, local_queue(team, sharing=config.sharing)


def local_queue(team: str, *, sharing: Sharing = Sharing.ONE_QUEUE) -> Json:
    """The LocalQueue of a team."""
    queue = SHARED_QUEUE if sharing is Sharing.ONE_QUEUE else team
    return _namespaced(team) | {"spec": {"clusterQueue": queue}}


def priority_class(name: str) -> Json:
    """One of the WorkloadPriorityClasses."""
    return {"metadata": {"name": name}, "value": CLASSES[name]}


def cluster_queue(name: str, quota: Mapping[str, str], *, sharing: Sharing = Sharing.ONE_QUEUE) -> Json:
    """A ClusterQueue with preemption, and with borrowing where there is a cohort."""
    resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quota.items()]
    preemption = {"withinClusterQueue": "LowerPriority"}
    spec: Json = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [
            {"coveredResources": list(quota), "flavors": [{"name": FLAVOR, "resources": resources}]}
        ],
    }
    if sharing is Sharing.COHORT:
        spec |= {"cohortName": COHORT}
        preemption |= {"reclaimWithinCohort": "Any"}
    return {"metadata": {"name": name}, "spec": spec | {"preemption": preemption}}


def mixing(config: WorldConfig, *, rest_url: str, token_file: str) -> tuple[Kind, Json]:
    """The WorkloadMixing: two partitions, each with its team's queue and a class of its own."""
    spec = {
        "slurmRestURL": rest_url,
        "allowInsecureHTTP": True,
        "slurmUser": "root",
        "slurmTokenFile": token_file,
        "pollInterval": "1s",
        "slurmRequestTimeout": "5s",
        "localQueue": TEAM_A,
        "partitionMappings": [
            {"partitionName": BATCH, "workloadPriorityClass": NORMAL, "localQueue": TEAM_A},
            {"partitionName": URGENT, "workloadPriorityClass": HIGH, "localQueue": TEAM_B},
        ],
        "slurmd": {"image": IMAGE, "confServer": "slurmctld:6817", "authSecretName": AUTH_SECRET},
    }
    return WORKLOADMIXINGS, _namespaced(MIXING) | {"spec": spec | dict(config.spec)}


def plain_job(  # noqa: PLR0913 - what a Job says
    name: str, *, queue: str, priority: str, cpus: int, pods: int, seconds: float
) -> tuple[Kind, Json]:
    """A Kubernetes Job that Kueue admits: `pods` pods of `cpus` CPUs that sleep for `seconds`."""
    container = {
        "name": "main",
        "image": "busybox:stable",
        "command": ["sh", "-c", f"trap 'exit 0' TERM; sleep {seconds:g}"],
        "resources": {"requests": {"cpu": str(cpus)}},
    }
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    labels = {naming.QUEUE_NAME: queue, naming.PRIORITY_CLASS: priority}
    meta = {"namespace": NAMESPACE, "name": name, "labels": labels}
    spec = {"parallelism": pods, "completions": pods, "suspend": True, "template": template}
    return JOBS, {"metadata": meta, "spec": spec}


def _namespaced(name: str) -> Json:
    return {"metadata": {"namespace": NAMESPACE, "name": name}}


def _machine(name: str, resources: Mapping[str, str]) -> Json:
    amounts: dict[str, Any] = {"capacity": dict(resources), "allocatable": dict(resources)}
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {"metadata": meta, "spec": {}, "status": amounts}


def _cluster_queues(config: WorldConfig) -> dict[str, dict[str, str]]:
    if config.sharing is Sharing.ONE_QUEUE:
        return {SHARED_QUEUE: dict(config.quota)}
    halves = {name: text(name, parse(name, amount) // 2) for name, amount in config.quota.items()}
    return {TEAM_A: halves, TEAM_B: halves}
