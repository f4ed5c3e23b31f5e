"""A shared RayCluster as conformance tests use it: either world looks the same."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from conformance.cluster import Side
from conformance.recording import path

from k8s_bridge.sandbox.apiserver.kinds import (
    BY_KIND,
    EVENTS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    Kind,
)

Json = dict[str, Any]
NAMESPACE, CLUSTER, QUEUE = "ray", "shared", "ray"
IMAGE = "testbed.local/ray:2.60"
_SMALL = "--object-store-memory=100000000"
_PATIENCE = {Side.SANDBOX: 30.0, Side.TESTBED: 150.0}
_PAUSE = {Side.SANDBOX: 0.02, Side.TESTBED: 0.3}
_PATCH = {"merge": "application/merge-patch+json", "json": "application/json-patch+json"}


class Ray:
    """The API server and the head. Everything that a test makes is removed when it ends."""

    def __init__(self, api: httpx.AsyncClient, head: httpx.AsyncClient, *, side: Side) -> None:
        self.api = api
        self.head = head
        self.side = side
        self.mark = f"c{secrets.token_hex(3)}"
        self._made: list[tuple[Kind, str]] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, how: dict[str, Any], *, side: Side) -> AsyncIterator[Ray]:
        """When the cluster is ready."""
        timeout = httpx.Timeout(30.0)
        async with (
            httpx.AsyncClient(**how, timeout=timeout) as api,
            httpx.AsyncClient(timeout=timeout) as head,
        ):
            ray = cls(api, head, side=side)
            cluster = await ray.until(ray._ready, what="the cluster is ready")
            head.base_url = httpx.URL(f"http://{cluster['status']['head']['podIP']}:8265")
            try:
                yield ray
            finally:
                await ray._remove()

    async def _ready(self) -> Json | None:
        cluster = await self.find(RAYCLUSTERS, CLUSTER)
        return cluster if cluster and (cluster.get("status") or {}).get("state") == "ready" else None

    async def _remove(self) -> None:
        for kind, name in reversed(self._made):
            await self.api.request(
                "DELETE", path(kind, NAMESPACE, name), json={"propagationPolicy": "Background"}
            )
        for kind, name in reversed(self._made):
            if kind is not EVENTS:
                await self.until(lambda k=kind, n=name: self._gone(k, n), what=f"{name} is gone")

    async def _gone(self, kind: Kind, name: str) -> bool:
        return await self.find(kind, name) is None

    async def until(self, look: Callable[[], Any], *, what: str, seconds: float = 0.0) -> Any:
        """The first truthy answer of an asynchronous look."""
        end = time.monotonic() + (seconds or _PATIENCE[self.side])
        while not (found := await look()):
            if time.monotonic() > end:
                raise AssertionError(f"not in time: {what}")
            await asyncio.sleep(_PAUSE[self.side])
        return found

    async def find(self, kind: Kind, name: str) -> Json | None:
        """An object, None when it is not there."""
        answer = await self.api.get(path(kind, NAMESPACE, name))
        return answer.json() if answer.is_success else None

    async def listed(self, kind: Kind, **query: str) -> list[Json]:
        """All objects of a kind."""
        return list((await self.api.get(path(kind, NAMESPACE), params=query)).json()["items"])

    async def try_create(self, manifest: Json) -> httpx.Response:
        """The answer to an attempt."""
        kind = BY_KIND[manifest["apiVersion"], manifest["kind"]]
        answer = await self.api.post(path(kind, NAMESPACE), json=manifest)
        if answer.is_success:
            self._made.append((kind, answer.json()["metadata"]["name"]))
        return answer

    async def create(self, manifest: Json) -> Json:
        """Create an object. AssertionError when it is refused."""
        answer = await self.try_create(manifest)
        assert answer.is_success, answer.text
        return answer.json()

    async def patch(
        self, kind: Kind, name: str, patch: Any, *, how: str = "merge", status: bool = False
    ) -> Json:
        """Patch an object. AssertionError when it is refused."""
        place = path(kind, NAMESPACE, name) + ("/status" if status else "")
        answer = await self.api.patch(place, json=patch, headers={"Content-Type": _PATCH[how]})
        assert answer.is_success, answer.text
        return answer.json()

    async def delete(self, kind: Kind, name: str, **options: Any) -> None:
        """Delete an object."""
        answer = await self.api.request("DELETE", path(kind, NAMESPACE, name), json=options)
        assert answer.is_success, answer.text

    def rayjob(self, name: str, entrypoint: str = "true", **spec: Any) -> Json:
        """A RayJob in the shared cluster; its name begins with the test's own mark."""
        whole = {"clusterSelector": {"ray.io/cluster": CLUSTER}, "entrypoint": entrypoint} | spec
        return {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "metadata": {"namespace": NAMESPACE, "name": f"{self.mark}-{name}"},
            "spec": whole,
        }

    def workers(self, name: str, *, options: str, grace: int = 5, count: int = 1) -> Json:
        """A JobSet of Ray workers that nobody has to admit."""
        address = f"{CLUSTER}-head-svc.{NAMESPACE}.svc.cluster.local:6379"
        command = f"exec ray start --address={address} --num-cpus=1 {options} {_SMALL} --block"
        container = {
            "name": "ray",
            "image": IMAGE,
            "command": ["/bin/bash", "-c"],
            "args": [command],
            "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        }
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": grace, "containers": [container]}
        job = {"completionMode": "Indexed", "parallelism": count, "completions": count, "backoffLimit": 4}
        replicated = {"name": "w", "replicas": 1, "template": {"spec": job | {"template": {"spec": pod}}}}
        return {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"namespace": NAMESPACE, "name": f"{self.mark}-{name}"},
            "spec": {"replicatedJobs": [replicated]},
        }

    async def status(self, name: str) -> Json:
        """The status of a RayJob."""
        found = await self.find(RAYJOBS, name)
        return (found or {}).get("status") or {}

    async def until_status(self, name: str, deployment: str, job: str = "") -> Json:
        """The status of a RayJob when it is that."""

        async def reached() -> Json | None:
            status = await self.status(name)
            there = status.get("jobDeploymentStatus") == deployment
            return (
                status
                if there and status.get("jobStatus", "") == (job or status.get("jobStatus", ""))
                else None
            )

        return await self.until(reached, what=f"{name} is {deployment} {job}")

    async def hears(self, name: str, *event: str) -> None:
        """Wait until an event (type, reason, message) was told: it comes after what it tells of."""

        async def told() -> bool:
            return event in await self.events(name)

        await self.until(told, what=f"{event} is told of {name}")

    async def events(self, name: str) -> set[tuple[str, str, str]]:
        """(type, reason, message) of what was told about an object."""
        found = await self.listed(EVENTS, fieldSelector=f"involvedObject.name={name}")
        return {(e["type"], e["reason"], e["message"]) for e in found}

    async def submit(self, entrypoint: str, **more: Any) -> str:
        """Give a job to the jobs API; its submission id."""
        answer = await self.head.post("/api/jobs/", json={"entrypoint": entrypoint} | more)
        assert answer.is_success, answer.text
        return str(answer.json()["submission_id"])

    async def job(self, name: str) -> Json:
        """What the jobs API says of a job."""
        answer = await self.head.get(f"/api/jobs/{name}")
        assert answer.is_success, answer.text
        return answer.json()

    async def until_job(self, name: str, *statuses: str, seconds: float = 0.0) -> Json:
        """A job when it is in one of the statuses."""

        async def reached() -> Json | None:
            job = await self.job(name)
            return job if job["status"] in statuses else None

        return await self.until(reached, what=f"{name} is {statuses}", seconds=seconds)

    async def state(self, what: str, *filters: tuple[str, str, str], **query: str) -> list[Json]:
        """Rows of the State API."""
        pairs = [pair for f in filters for pair in zip(_FILTER, f, strict=True)] + list(query.items())
        answer = await self.head.get(f"/api/v0/{what}", params=pairs)
        assert answer.is_success, answer.text
        return list(answer.json()["data"]["result"]["result"])

    async def node_with(self, label: str, value: str, state: str = "ALIVE") -> Json:
        """The node that carries a label, when it is in that state."""

        async def there() -> Json | None:
            nodes = await self.state("nodes", detail="true")
            return next((n for n in nodes if n["labels"].get(label) == value and n["state"] == state), None)

        return await self.until(there, what=f"a node with {label}={value} is {state}")

    async def pod_of(self, job: str) -> Json:
        """The pod of a Job, when there is one."""

        async def there() -> Json | None:
            pods = await self.listed(PODS, labelSelector=f"batch.kubernetes.io/job-name={job}")
            alive = [p for p in pods if "deletionTimestamp" not in p["metadata"]]
            return alive[0] if alive else None

        return await self.until(there, what=f"Job {job} has a pod")


_FILTER = ("filter_keys", "filter_predicates", "filter_values")
