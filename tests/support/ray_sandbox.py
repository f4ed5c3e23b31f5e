"""The Ray bridge in the sandbox: a shared cluster, the policies, Kueue, and inner jobs."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from k8s_bridge.kube import auth
from k8s_bridge.ray import names
from k8s_bridge.ray.bridge import create
from k8s_bridge.ray.policies import policies
from k8s_bridge.runtime.gates import Gates, Transport
from k8s_bridge.runtime.logging import configure
from k8s_bridge.runtime.process import Process
from k8s_bridge.runtime.product import RAY
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.runtime.settings import Bind, Election, LogFormat, Settings
from k8s_bridge.sandbox.apiserver import kinds
from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.kinds import Kind
from k8s_bridge.sandbox.apiserver.kubeconfig import write_kubeconfig
from k8s_bridge.sandbox.apiserver.server import ApiServer
from k8s_bridge.sandbox.clock import parse_stamp
from k8s_bridge.sandbox.controllers.manager import Controllers
from k8s_bridge.sandbox.controllers.nodes import node_manifest
from k8s_bridge.sandbox.controllers.timing import FAST, Timing
from support import ray_webhook

NAMESPACE = "science"
CLUSTER = "shared"
LOW, HIGH = "low", "high"
QUOTA = 4
"""CPUs; the shared cluster's head takes one."""
_HEAD = {
    "rayStartParams": {"dashboard-host": "0.0.0.0", "num-cpus": "0"},
    "template": {
        "spec": {
            "containers": [
                {"name": "head", "image": "ray:2", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
            ]
        }
    },
}


class RaySandbox:
    """A running sandbox; `storage` is its API server's."""

    def __init__(self, server: ApiServer, controllers: Controllers, kubeconfig: Path) -> None:
        self.storage = server.storage
        self.server = server
        self.controllers = controllers
        self.kubeconfig = kubeconfig
        self.log = io.StringIO()

    @contextlib.asynccontextmanager
    async def bridge(self) -> AsyncIterator[Process]:
        """The bridge, until the end of the block."""
        settings = Settings(
            product=RAY,
            kubeconfig=self.kubeconfig,
            namespaces=(NAMESPACE,),
            election=Election.NONE,
            http=Bind(port=0),
            gates=Gates(transport=Transport.INSECURE),
        )
        redactor = Redactor()
        log = configure(level="info", form=LogFormat.JSON, stream=self.log, redactor=redactor)
        process = Process(
            settings, create, server=auth.load(str(self.kubeconfig)), log=log, redactor=redactor
        )
        stop, thresholds = asyncio.Event(), gc.get_threshold()
        task = asyncio.create_task(process.run(stop))
        try:
            yield process
        finally:
            stop.set()
            await task
            gc.unfreeze()
            gc.set_threshold(*thresholds)

    def submit(
        self, name: str, *, seconds: float = 0.2, notes: Mapping[str, str] | None = None, **spec: Any
    ) -> Json:
        """An inner RayJob whose driver sleeps; `notes` are annotations without their prefix."""
        annotations = {f"{names.PREFIX}/{key}": value for key, value in (notes or {}).items()}
        body = {
            "clusterSelector": {names.CLUSTER_SELECTOR: CLUSTER},
            "entrypoint": f'python3 -c "import time; time.sleep({seconds})"',
        }
        meta = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
        return self.create(kinds.RAYJOBS, {"metadata": meta, "spec": body | spec})

    def submit_plain(self, name: str, *, cpus: int, seconds: float, priority: str = HIGH) -> None:
        """A Kubernetes Job that Kueue admits in the same queue."""
        container = {
            "name": "main",
            "image": "busybox",
            "command": ["sh", "-c", f"sleep {seconds}"],
            "resources": {"requests": {"cpu": str(cpus)}},
        }
        labels = {"kueue.x-k8s.io/queue-name": "science", "kueue.x-k8s.io/priority-class": priority}
        spec = {
            "parallelism": 1,
            "completions": 1,
            "suspend": True,
            "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
        }
        meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
        self.create(kinds.JOBS, {"metadata": meta, "spec": spec})

    def create(self, kind: Kind, obj: Json) -> Json:
        """Create an object; its version and kind are put in."""
        version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        return self.storage.create(kind, {"apiVersion": version, "kind": kind.kind} | obj)

    def job(self, name: str) -> Json | None:
        """A RayJob as it is now; None when it is gone."""
        return self.storage.find(kinds.RAYJOBS, NAMESPACE, name)

    def cluster(self) -> Json | None:
        """The shared RayCluster."""
        return self.storage.find(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)

    def stop(self, name: str) -> None:
        """Stop a job in Ray, as `ray job stop` does."""
        head, job = self.controllers.ray.at(NAMESPACE, CLUSTER), self.job(name)
        assert head is not None
        assert job is not None
        head.stop(job["status"]["jobId"])

    def age(self, name: str) -> float:
        """Seconds since KubeRay took a job up; 0 before."""
        began = ((self.job(name) or {}).get("status") or {}).get("startTime")
        return self.storage.clock.now().timestamp() - parse_stamp(began).timestamp() if began else 0.0

    def status(self, name: str) -> str:
        """Ray's word about a job."""
        found = self.job(name) or {}
        return str((found.get("status") or {}).get("jobStatus", ""))

    def notes(self, name: str) -> dict[str, str]:
        """The bridge's annotations of a job, without their prefix."""
        found = (self.job(name) or {}).get("metadata", {}).get("annotations") or {}
        return {key.split("/")[1]: value for key, value in found.items() if key.startswith(names.PREFIX)}

    def jobsets(self) -> list[str]:
        """Names of the JobSets that there are."""
        return [obj["metadata"]["name"] for obj in self.storage.list(kinds.JOBSETS, namespace=NAMESPACE)]

    def workers(self) -> list[str]:
        """Names of the workers' pods."""
        ours = f"{names.MANAGED_BY}={names.MANAGER}"
        found = self.storage.list(kinds.PODS, namespace=NAMESPACE, label_selector=ours)
        return [pod["metadata"]["name"] for pod in found]

    def head(self) -> str:
        """Name of the shared cluster's head pod."""
        (name,) = self.heads()
        return name

    def heads(self) -> set[str]:
        """Names of head pods: one, or none, while it restarts."""
        selector = "ray.io/node-type=head"
        found = self.storage.list(kinds.PODS, namespace=NAMESPACE, label_selector=selector)
        return {pod["metadata"]["name"] for pod in found}

    def used(self) -> str:
        """CPUs in use, as Kueue counts them."""
        status = self.storage.get(kinds.CLUSTERQUEUES, "", "all").get("status") or {}
        (flavor,) = status.get("flavorsUsage") or [{"resources": []}]
        return next((each["total"] for each in flavor["resources"] if each["name"] == "cpu"), "0")

    def events(self) -> set[str]:
        """Reasons of the bridge's events."""
        return {
            event["reason"]
            for event in self.storage.list(kinds.EVENTS, namespace=NAMESPACE)
            if event.get("reportingComponent") == RAY.name
        }

    def ray_ready(self, mixing: str) -> str:
        """The reason of a WorkloadMixing's condition RayReady."""
        status = self.storage.get(kinds.WORKLOADMIXINGS, NAMESPACE, mixing).get("status") or {}
        found = {each["type"]: each["reason"] for each in status.get("conditions") or []}
        return found.get("RayReady", "")

    def submissions(self) -> dict[str, str]:
        """What Ray says of every submission that it knows: its status by its id."""
        head = self.controllers.ray.at(NAMESPACE, CLUSTER)
        return {name: job.status.value for name, job in head.jobs.items()} if head else {}

    async def until(self, holds: Callable[[], Any], *, what: str, seconds: float = 30.0) -> None:
        """Wait for something. AssertionError with the end of the bridge's log when it does not come."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"not within {seconds:g} s: {what}\n{self.log.getvalue()[-3000:]}"
            await asyncio.sleep(0.02)


class Admission(StrEnum):
    """What holds inner jobs."""

    POLICY = "policy"
    WEBHOOK = "webhook"


@contextlib.asynccontextmanager
async def sandbox(
    directory: Path,
    *,
    timing: Timing = FAST,
    quota: int = QUOTA,
    admission: Admission = Admission.POLICY,
    cluster: Mapping[str, Any] = MappingProxyType({}),
    **ray: Any,
) -> AsyncIterator[RaySandbox]:
    """Everything but the bridge.

    `ray` is laid over the section of the WorkloadMixing, `cluster` over the spec of the RayCluster.
    """
    await asyncio.to_thread(directory.mkdir, exist_ok=True)
    async with ApiServer() as server:
        ray_webhook.serve(server.storage)
        controllers = Controllers(server.storage, timing=timing)
        running = asyncio.create_task(controllers.run())
        kubeconfig = directory / "kubeconfig"
        write_kubeconfig(server, kubeconfig, namespace=NAMESPACE)
        world = RaySandbox(server, controllers, kubeconfig)
        try:
            for kind, obj in (*_enforcement(admission), *_furniture(ray, quota, cluster)):
                world.create(kind, obj)
            await world.until(lambda: _head(world), what="the shared cluster's head is up")
            yield world
            assert controllers.engine.failures == 0
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def _head(world: RaySandbox) -> bool:
    found = world.storage.get(kinds.RAYCLUSTERS, NAMESPACE, CLUSTER)
    return (found.get("status") or {}).get("state") == "ready"


def _enforcement(admission: Admission) -> Iterator[tuple[Kind, Json]]:
    made = {
        Admission.POLICY: policies(prefix="ray", mutating="v1beta1"),
        Admission.WEBHOOK: ray_webhook.configured(NAMESPACE),
    }
    for obj in made[admission]:
        yield kinds.BY_KIND[obj["apiVersion"], obj["kind"]], obj


def _furniture(ray: Mapping[str, Any], quota: int, cluster: Mapping[str, Any]) -> list[tuple[Kind, Json]]:
    resources = [{"name": "cpu", "nominalQuota": str(quota)}, {"name": "memory", "nominalQuota": "640Gi"}]
    queue = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [
            {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": resources}]}
        ],
    }
    section = {
        "localQueue": "science",
        "managedClusters": [{"name": CLUSTER}],
        "poolMappings": [
            {"pool": "default", "workloadPriorityClass": LOW, "maxWorkers": 8},
            {"pool": "urgent", "workloadPriorityClass": HIGH},
        ],
    }
    return [
        (kinds.NAMESPACES, {"metadata": {"name": NAMESPACE, "labels": {names.MANAGED_NAMESPACE: "true"}}}),
        *(
            (
                kinds.NODES,
                node_manifest(f"node{n}", {"cpu": str(2 * quota), "memory": "640Gi", "pods": "500"}),
            )
            for n in (1, 2)
        ),
        (kinds.RESOURCEFLAVORS, {"metadata": {"name": "default"}, "spec": {}}),
        (kinds.PRIORITYCLASSES, {"metadata": {"name": LOW}, "value": 10}),
        (kinds.PRIORITYCLASSES, {"metadata": {"name": HIGH}, "value": 1000}),
        (kinds.CLUSTERQUEUES, {"metadata": {"name": "all"}, "spec": queue}),
        (
            kinds.LOCALQUEUES,
            {"metadata": {"name": "science", "namespace": NAMESPACE}, "spec": {"clusterQueue": "all"}},
        ),
        (kinds.WORKLOADMIXINGS, mixing(section | dict(ray))),
        (
            kinds.RAYCLUSTERS,
            {
                "metadata": {
                    "name": CLUSTER,
                    "namespace": NAMESPACE,
                    "labels": {"kueue.x-k8s.io/queue-name": "science", "kueue.x-k8s.io/priority-class": HIGH},
                },
                "spec": {"rayVersion": "2.60.0", "headGroupSpec": _HEAD, "workerGroupSpecs": []}
                | dict(cluster),
            },
        ),
    ]


def mixing(section: Mapping[str, Any], *, name: str = "main") -> Json:
    """A WorkloadMixing for Ray alone."""
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"ray": dict(section)}}
