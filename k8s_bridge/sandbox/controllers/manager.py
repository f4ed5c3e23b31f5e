"""All controllers of the sandbox, wired to one storage and run as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import (
    CLUSTERQUEUES,
    JOBS,
    JOBSETS,
    NODES,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    WORKLOADS,
    Kind,
)
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.controllers import job_render, jobset_render, jobset_webhook
from k8s_bridge.sandbox.controllers.api import Api, Owned, key_of, kind_of
from k8s_bridge.sandbox.controllers.engine import Engine, Reconciler
from k8s_bridge.sandbox.controllers.job import JobController, PodOrphans
from k8s_bridge.sandbox.controllers.jobset import JobSetController
from k8s_bridge.sandbox.controllers.kubelet import Kubelets
from k8s_bridge.sandbox.controllers.kubelet_runtime import SelectRuntime, runtime_by_container
from k8s_bridge.sandbox.controllers.kuberay.cluster import RayClusterController
from k8s_bridge.sandbox.controllers.kuberay.job import RayJobController
from k8s_bridge.sandbox.controllers.kueue.adapters import (
    JobAdapter,
    JobSetAdapter,
    PodAdapter,
    RayClusterAdapter,
)
from k8s_bridge.sandbox.controllers.kueue.admission_hooks import (
    MANAGED,
    Defaulter,
    guard_labels,
    guard_queue,
    suspend_new,
)
from k8s_bridge.sandbox.controllers.kueue.cache import Cache
from k8s_bridge.sandbox.controllers.kueue.cycle import ALL_QUEUES, Cycle
from k8s_bridge.sandbox.controllers.kueue.feed import Feed
from k8s_bridge.sandbox.controllers.kueue.integration import JobReconciler, OrphanReconciler
from k8s_bridge.sandbox.controllers.kueue.lifecycle import WorkloadLifecycle
from k8s_bridge.sandbox.controllers.kueue.model import Flavor
from k8s_bridge.sandbox.controllers.kueue.queue_status import ClusterQueueStatus, LocalQueueStatus
from k8s_bridge.sandbox.controllers.kueue.tas import free_nodes, has_topology
from k8s_bridge.sandbox.controllers.kueue.topology import FreeNode
from k8s_bridge.sandbox.controllers.kueue.ungate import Ungater, is_gated
from k8s_bridge.sandbox.controllers.nodes import NodeLifecycle
from k8s_bridge.sandbox.controllers.scheduler import Placed, Scheduler
from k8s_bridge.sandbox.controllers.simulated_runtime import SimulatedRuntime
from k8s_bridge.sandbox.controllers.timing import REALISTIC, Timing
from k8s_bridge.sandbox.gc import GarbageCollector
from k8s_bridge.sandbox.ray_fake.heads import Heads
from k8s_bridge.sandbox.ray_fake.runtime import with_ray

Callback = Callable[[Change, Json], None]


class Controllers:
    """The control plane behind the embedded API server. Make it inside a running loop, then `run` it."""

    def __init__(
        self,
        storage: Storage,
        *,
        timing: Timing = REALISTIC,
        select: SelectRuntime | None = None,
        ray: Heads | None = None,
    ) -> None:
        self.engine = Engine(clock=storage.clock)
        self._storage = storage
        self._garbage = GarbageCollector(storage)
        self._timing = timing
        self._api = Api(storage)
        self.cache = Cache()
        self._jobs, self._pods = Owned(storage, JOBS), Owned(storage, PODS)
        self._workloads = Owned(storage, WORKLOADS)
        self._orphans = OrphanReconciler(self._api)
        simulated = SimulatedRuntime(storage.clock)
        self._placed = Placed(self._api)
        self.ray = ray or Heads(storage.clock, timing=timing)
        self.kubelets = Kubelets(
            self._api,
            self.engine,
            timing=timing,
            select=with_ray(self.ray, select or runtime_by_container({}, default=simulated)),
            address=self.ray.address,
        )
        self.nodes = NodeLifecycle(self._api, self.engine, self.kubelets, timing=timing)
        self._hook_admission()
        self._wire_kueue()
        self._wire_workloads()
        self._wire_pods()
        self._wire_ray()

    async def run(self) -> None:
        """Work until cancelled."""
        self.engine.spawn(self._garbage.run())
        try:
            await self.engine.run()
        finally:
            await self.ray.stop()

    def _hook_admission(self) -> None:
        default = Defaulter(self._storage)
        queue = (default.job, suspend_new)
        for kind, hooks in (
            (JOBSETS, (jobset_render.with_defaults, *queue, jobset_webhook.validate, guard_labels)),
            (JOBS, (job_render.with_defaults, *queue, guard_labels)),
            (RAYCLUSTERS, (*queue, guard_labels)),
            (RAYJOBS, (*queue, guard_labels)),
            (PODS, (default.pod,)),
            (CLUSTERQUEUES, (guard_queue,)),
        ):
            for hook in hooks:
                self._storage.admit(kind, hook)

    def _wire_kueue(self) -> None:
        api, engine, cache = self._api, self.engine, self.cache
        local = LocalQueueStatus(api, cache)
        self._cycle = Cycle(api, engine, cache, self._free_nodes)
        feed = Feed(
            engine,
            cache,
            timing=self._timing,
            cycle=self._cycle,
            workloads=WorkloadLifecycle(api, engine, cache, self._cycle),
            local_status=local,
            cluster_status=ClusterQueueStatus(api, engine, cache, local),
        )
        feed.subscribe(self._storage)
        self._kueue_jobs = {
            a.kind: JobReconciler(api, cache, a, self._workloads, timing=self._timing)
            for a in (JobSetAdapter(), JobAdapter(), RayClusterAdapter(), PodAdapter())
        }
        self._storage.subscribe(NODES, lambda _change, _obj: engine.add(self._cycle, ALL_QUEUES))

    def _wire_workloads(self) -> None:
        """Jobs, JobSets and Workloads set each other going."""
        jobsets = JobSetController(self._api, self._jobs)
        jobs = JobController(self._api, self._pods, timing=self._timing)
        self._job_controller = jobs

        def jobset_changed(change: Change, obj: Json) -> None:
            self._abandon(change, obj)
            self.engine.add(jobsets, key_of(obj))
            self.engine.add(self._kueue_jobs[JOBSETS], key_of(obj))

        def job_changed(change: Change, obj: Json) -> None:
            self._abandon(change, obj)
            if change is not Change.DELETED:
                self.engine.add(jobs, key_of(obj))
            self._add_owner(jobsets, JOBSETS, obj)
            self.engine.add(self._kueue_jobs[JOBS], key_of(obj))

        def workload_changed(_change: Change, obj: Json) -> None:
            for kind, reconciler in self._kueue_jobs.items():
                self._add_owner(reconciler, kind, obj)
            if self._owner_is_gone(obj):
                self.engine.add(self._orphans, key_of(obj))

        self._feed(JOBSETS, jobset_changed)
        self._feed(JOBS, job_changed)
        self._feed(WORKLOADS, workload_changed)

    def _abandon(self, change: Change, job: Json) -> None:
        """Let the Workloads of a job go that is gone."""
        for workload in self._workloads.of(job["metadata"]["uid"]) if change is Change.DELETED else ():
            self.engine.add(self._orphans, key_of(workload))

    def _wire_pods(self) -> None:
        scheduler = Scheduler(self._api, self.engine, self._placed)
        ungater, orphans = Ungater(self._api), PodOrphans(self._api)

        def pod_changed(change: Change, pod: Json) -> None:
            self._abandon(change, pod)
            if MANAGED in (pod["metadata"].get("labels") or {}):
                self.engine.add(self._kueue_jobs[PODS], key_of(pod))
            self._add_owner(self._job_controller, JOBS, pod, after=self._timing.job_batch)
            if is_gated(pod):
                self.engine.add_later(ungater, key_of(pod), after=self._timing.ungate)
            if "deletionTimestamp" in pod["metadata"]:
                self.engine.add(orphans, key_of(pod))

        self._feed(PODS, pod_changed)
        for pod in self._storage.list(PODS):
            self.engine.add(scheduler, key_of(pod))

    def _wire_ray(self) -> None:
        clusters = RayClusterController(self._api, self._pods, timing=self._timing)
        seen: dict[str, int] = {}
        jobs = RayJobController(self._api, self.ray, timing=self._timing)

        def cluster_changed(change: Change, obj: Json) -> None:
            self._abandon(change, obj)
            meta = obj["metadata"]
            if change is Change.DELETED:
                seen.pop(meta["uid"], None)
            elif seen.get(meta["uid"]) != meta["generation"]:  # KubeRay does not watch what it writes itself
                seen[meta["uid"]] = meta["generation"]
                self.engine.add(clusters, key_of(obj))
            self.engine.add(self._kueue_jobs[RAYCLUSTERS], key_of(obj))

        def job_changed(_change: Change, obj: Json) -> None:
            self.engine.add(jobs, key_of(obj))

        self._feed(RAYCLUSTERS, cluster_changed)
        self._feed(RAYJOBS, job_changed)
        later = self._timing.kuberay_batch
        self._feed(PODS, lambda _change, pod: self._add_owner(clusters, RAYCLUSTERS, pod, after=later))
        self._feed(JOBS, lambda _change, job: self._add_owner(jobs, RAYJOBS, job))

    def _feed(self, kind: Kind, callback: Callback) -> None:
        for obj in self._storage.list(kind):
            callback(Change.ADDED, obj)
        self._storage.subscribe(kind, callback)

    def _add_owner(self, reconciler: Reconciler, kind: Kind, obj: Json, *, after: float = 0.0) -> None:
        for owner in obj["metadata"].get("ownerReferences") or ():
            if owner.get("controller") and owner["kind"] == kind.kind:
                key: Key = (obj["metadata"]["namespace"], owner["name"])
                self.engine.add_later(reconciler, key, after=after)

    def _owner_is_gone(self, obj: Json) -> bool:
        for owner in obj["metadata"].get("ownerReferences") or ():
            found = self._storage.find(kind_of(owner), obj["metadata"]["namespace"], owner["name"])
            if found is not None and found["metadata"]["uid"] == owner["uid"]:
                return False
        return True

    def _free_nodes(self, flavor: Flavor) -> Sequence[FreeNode]:
        """What topology-aware admission may still give away on each usable node of a flavor."""
        held = [self._storage.get(WORKLOADS, *key) for held in self.cache.holders.values() for key in held]
        assigned = [w for w in held if has_topology(w)]
        return free_nodes(flavor, self._storage.list(NODES), self._placed.pods, assigned)
