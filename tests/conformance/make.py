"""The objects that conformance tests create."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

SLEEP = "trap 'exit 1' TERM; sleep 600 & wait"
"""Runs until it is told to end, and ends at once then."""
IMAGE = "busybox:stable"
NODE = {"kubernetes.io/hostname": "node1"}
"""Where pods run if a test does not say otherwise: other tests take node2 away."""


@dataclass(frozen=True, slots=True)
class Make:
    """Manifests. Names of objects without a namespace begin with the test's own."""

    namespace: str

    def own(self, name: str) -> str:
        """The real name of an object without a namespace."""
        return f"{self.namespace}-{name}"

    def flavor(self, name: str, **spec: Any) -> Json:
        return _object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", {"name": self.own(name)}, spec)

    def priority_class(self, name: str, value: int) -> Json:
        meta = {"name": self.own(name)}
        return _object("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", meta) | {"value": value}

    def cluster_queue(
        self, name: str, *, quota: dict[str, str], flavor: str = "default", **spec: Any
    ) -> Json:
        resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quota.items()]
        flavors = [{"name": self.own(flavor), "resources": resources}]
        groups = [{"coveredResources": list(quota), "flavors": flavors}]
        whole = {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": groups,
        }
        meta = {"name": self.own(name)}
        return _object("kueue.x-k8s.io/v1beta2", "ClusterQueue", meta, whole | spec)

    def local_queue(self, name: str, *, queue: str, **spec: Any) -> Json:
        whole = {"clusterQueue": self.own(queue), **spec}
        return _object("kueue.x-k8s.io/v1beta2", "LocalQueue", self._meta(name), whole)

    def admission_check(self, name: str) -> Json:
        spec = {"controllerName": "example.com/by-hand"}
        return _object("kueue.x-k8s.io/v1beta2", "AdmissionCheck", {"name": self.own(name)}, spec)

    def jobset(
        self,
        name: str,
        *,
        pods: int = 1,
        queue: str = "lq",
        priority: str = "low",
        job: Json | None = None,
        labels: dict[str, str] | None = None,
        spec: Json | None = None,
        **pod: Any,
    ) -> Json:
        """A suspended JobSet of one Job, `w`. `job`, `spec`: laid over; `pod`: see `pod_template`."""
        template = {
            "spec": {
                "completionMode": "Indexed",
                "completions": pods,
                "parallelism": pods,
                "backoffLimit": 0,
                "template": self.pod_template(**pod),
                **(job or {}),
            }
        }
        replicated = [{"name": "w", "replicas": 1, "template": template}]
        whole = {"suspend": True, "replicatedJobs": replicated, **(spec or {})}
        meta = self._meta(name) | {"labels": self._marks(queue, priority) | (labels or {})}
        return _object("jobset.x-k8s.io/v1alpha2", "JobSet", meta, whole)

    def job(
        self,
        name: str,
        *,
        queue: str = "lq",
        priority: str = "low",
        spec: Json | None = None,
        **pod: Any,
    ) -> Json:
        """A suspended Job of one pod. With `queue` "" it is none of Kueue's business, and runs."""
        meta = self._meta(name) | {"labels": self._marks(queue, priority)}
        whole = {
            "suspend": bool(queue),
            "backoffLimit": 0,
            "template": self.pod_template(**pod),
            **(spec or {}),
        }
        return _object("batch/v1", "Job", meta, whole)

    def pod_template(
        self,
        *,
        command: str = SLEEP,
        cpu: str = "1",
        image: str = IMAGE,
        container: Json | None = None,
        **spec: Any,
    ) -> Json:
        """A pod with the container `main`; `container` and `spec` are laid over."""
        main = {
            "name": "main",
            "image": image,
            "command": ["sh", "-c", command],
            "resources": {"requests": {"cpu": cpu}},
            **(container or {}),
        }
        whole = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 2,
            "nodeSelector": NODE,
            "containers": [main],
        }
        return {"spec": whole | spec}

    def _meta(self, name: str) -> Json:
        return {"namespace": self.namespace, "name": name}

    def _marks(self, queue: str, priority: str) -> dict[str, str]:
        marks = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
        return marks | ({"kueue.x-k8s.io/priority-class": self.own(priority)} if priority else {})


def _object(api_version: str, kind: str, metadata: Json, spec: Json | None = None) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | ({"spec": spec} if spec else {})
