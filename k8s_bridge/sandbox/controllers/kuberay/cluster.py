"""KubeRay's RayCluster controller: a Service, a head, workers, a status; suspended, all pods go."""

from __future__ import annotations

from collections.abc import Sequence

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import PODS, RAYCLUSTERS, SERVICES
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.api import Api, Owned, is_deleted
from k8s_bridge.sandbox.controllers.job_render import phase
from k8s_bridge.sandbox.controllers.kuberay import cluster_pods, cluster_status
from k8s_bridge.sandbox.controllers.kuberay.cluster_status import Suspension, suspension
from k8s_bridge.sandbox.controllers.kuberay.names import GROUP_LABEL, NODE_TYPE_LABEL, head_service
from k8s_bridge.sandbox.controllers.timing import Timing

SOURCE = "raycluster-controller"


class RayClusterController:
    """One step a time; a status that it has written brings it back for the next."""

    name = "raycluster"

    def __init__(self, api: Api, pods: Owned, *, timing: Timing) -> None:
        self._api = api
        self._pods = pods
        self._timing = timing

    def reconcile(self, key: Key) -> float | None:
        """Bring pods and status one step closer. What is being deleted is left to the garbage collector."""
        cluster = self._api.storage.find(RAYCLUSTERS, *key)
        if cluster is None or is_deleted(cluster):
            return None
        pods = self._pods.of(cluster["metadata"]["uid"])
        self._serve(cluster)
        self._provide(cluster, pods)
        # Like KubeRay's, the status is of the pods as they were before.
        cluster = self._api.storage.get(RAYCLUSTERS, *key)
        status = cluster_status.status(cluster, pods, now=self._api.stamp)
        written = self._api.set_status(RAYCLUSTERS, cluster, status)
        return None if written is cluster else self._timing.kuberay_cluster

    def _serve(self, cluster: Json) -> None:
        meta = cluster["metadata"]
        name = head_service(meta["name"])
        if self._api.storage.find(SERVICES, meta["namespace"], name) is None:
            self._api.storage.create(SERVICES, cluster_pods.service(cluster))
            self._tell(cluster, "CreatedService", f"Created service {meta['namespace']}/{name}")

    def _provide(self, cluster: Json, pods: Sequence[Json]) -> None:
        stage = suspension(cluster)
        if stage is Suspension.SUSPENDING:
            for pod in [p for p in pods if not is_deleted(p)]:
                self._api.delete(PODS, pod)
            who = f"{cluster['metadata']['namespace']}/{cluster['metadata']['name']}"
            self._tell(cluster, "DeletedPod", f"Deleted Pods for RayCluster {who} due to suspension")
        elif stage is Suspension.NONE and not cluster["spec"].get("suspend"):
            self._provide_head(cluster, [p for p in pods if _label(p, NODE_TYPE_LABEL) == "head"])
            for group in cluster["spec"].get("workerGroupSpecs") or ():
                self._provide_workers(cluster, group, [p for p in pods if _is_worker_of(p, group)])

    def _provide_head(self, cluster: Json, pods: Sequence[Json]) -> None:
        if not pods:
            pod = self._api.storage.create(PODS, cluster_pods.head(cluster))
            self._tell(cluster, "CreatedHeadPod", f"Created head Pod {_name(pod)}")
        for pod in filter(_is_over, pods):
            self._api.delete(PODS, pod)
            self._tell(cluster, "DeletedHeadPod", f"Deleted head Pod {_name(pod)}; Pod status: {phase(pod)}")

    def _provide_workers(self, cluster: Json, group: Json, pods: Sequence[Json]) -> None:
        over = list(filter(_is_over, pods))
        live = [p for p in pods if not is_deleted(p) and p not in over]
        missing = cluster_pods.replicas(group) - len(live)
        for _ in range(missing):
            pod = self._api.storage.create(PODS, cluster_pods.worker(cluster, group))
            self._tell(cluster, "CreatedWorkerPod", f"Created worker Pod {_name(pod)}")
        for pod in [*over, *live[: max(0, -missing)]]:
            self._api.delete(PODS, pod)
            self._tell(cluster, "DeletedWorkerPod", f"Deleted worker Pod {_name(pod)}")

    def _tell(self, cluster: Json, reason: str, message: str) -> None:
        self._api.event(cluster, reason, message, source=SOURCE)


def _name(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _label(pod: Json, name: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(name, ""))


def _is_worker_of(pod: Json, group: Json) -> bool:
    return _label(pod, NODE_TYPE_LABEL) == "worker" and _label(pod, GROUP_LABEL) == group["groupName"]


def _is_over(pod: Json) -> bool:
    return phase(pod) in ("Succeeded", "Failed") and not is_deleted(pod)
