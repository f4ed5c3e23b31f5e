"""All Ray heads of a sandbox: found by address, each with HTTP on a loopback address of its own."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.clock import Clock
from k8s_bridge.sandbox.controllers.kubelet_runtime import Pod
from k8s_bridge.sandbox.controllers.kuberay.dashboards import Unreachable
from k8s_bridge.sandbox.controllers.kuberay.names import CLUSTER_LABEL, NODE_TYPE_LABEL, head_service
from k8s_bridge.sandbox.controllers.timing import Timing
from k8s_bridge.sandbox.ray_fake import render
from k8s_bridge.sandbox.ray_fake.app import app
from k8s_bridge.sandbox.ray_fake.head import START_TIMEOUT, RayHead
from k8s_bridge.sandbox.slurm_fake.server import Server

DASHBOARD = 8265
LOOPBACK = "127.0.0.1"
_TIMEOUT = "RAY_JOB_START_TIMEOUT_SECONDS"
_STORAGE = "RAY_external_storage_namespace"


class Serving(StrEnum):
    """Whether heads answer over the network."""

    HTTP = "http"
    NOWHERE = "nowhere"
    """On virtual time nobody could ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    head: RayHead
    namespace: str
    service: str
    ip: str
    server: Server | None
    storage: str
    """Where in Redis what it knows outlives its process (GCS fault tolerance); "" when nothing does."""


class Heads:
    """The heads that run now."""

    def __init__(self, clock: Clock, *, timing: Timing, serving: Serving = Serving.HTTP) -> None:
        self.clock = clock
        self.timing = timing
        self._serving = serving
        self._places: list[_Place] = []
        self._kept: dict[str, _Place] = {}
        """By where in Redis it is, what is known of heads whose process has ended."""
        self._opened = asyncio.Event()
        self._random = random.Random()  # noqa: S311 - addresses that other sandboxes of this machine do not have

    def address(self, pod: Pod) -> str:
        """The address that a pod is to have: a head needs its port for itself."""
        labels = pod["metadata"].get("labels") or {}
        if self._serving is Serving.NOWHERE or labels.get(NODE_TYPE_LABEL) != "head":
            return LOOPBACK
        return self._free_address()

    def open(self, pod: Pod, *, ip: str, environment: Mapping[str, str]) -> RayHead:
        """The head of a pod has started: from now on it can be asked."""
        namespace = pod["metadata"]["namespace"]
        service = head_service((pod["metadata"].get("labels") or {}).get(CLUSTER_LABEL, ""))
        storage = environment.get(_STORAGE, "")
        kept = self._kept.pop(storage, None)
        self._disown(namespace, service)
        head = kept.head if kept else self._fresh(environment)
        head.resume()
        server = Server(app(head), address=(ip, DASHBOARD)) if self._serving is Serving.HTTP else None
        if server:
            server.start()
        self._places.append(
            _Place(head=head, namespace=namespace, service=service, ip=ip, server=server, storage=storage)
        )
        self._opened.set()
        return head

    def _disown(self, namespace: str, service: str) -> None:
        """A raylet ends when the head that answers it now does not know it."""
        for place in self._kept.values():
            if (place.namespace, place.service) == (namespace, service):
                place.head.gone.set()

    def _fresh(self, environment: Mapping[str, str]) -> RayHead:
        timeout = float(environment.get(_TIMEOUT) or START_TIMEOUT)
        return RayHead(
            self.clock, timing=self.timing, start_timeout=timeout, seed=self._random.getrandbits(32)
        )

    async def close(self, head: RayHead) -> None:
        """The head's pod has ended."""
        for place in [p for p in self._places if p.head is head]:
            self._places.remove(place)
            if place.storage:
                head.pause()
                self._kept[place.storage] = place
            else:
                await head.close()
            if place.server:
                await place.server.stop()

    async def stop(self) -> None:
        """End all of them."""
        for place in tuple(self._places):
            await self.close(place.head)
        for place in self._kept.values():
            await place.head.close()

    def find(self, address: str, *, namespace: str) -> RayHead | None:
        """The head at `host:port`, as a pod of `namespace` resolves it."""
        host = address.rpartition("//")[2].partition("/")[0].rpartition(":")[0] or address
        service, _, rest = host.partition(".")
        where = (rest.partition(".")[0] or namespace, service)
        for place in self._places:
            if place.ip == host or (place.namespace, place.service) == where:
                return place.head
        return None

    async def reached(self, address: str, *, namespace: str) -> RayHead:
        """The head at an address, when it is there."""
        while (head := self.find(address, namespace=namespace)) is None:
            self._opened.clear()
            await self._opened.wait()
        return head

    def at(self, namespace: str, cluster: str) -> RayHead | None:
        """The head of a RayCluster."""
        return self.find(f"{head_service(cluster)}.{namespace}:0", namespace=namespace)

    def job(self, namespace: str, cluster: str, job_id: str) -> Json | None:
        """A job as the jobs API shows it. Raises Unreachable."""
        found = self._head(namespace, cluster).jobs.get(job_id)
        return render.details(found) if found else None

    def submit(self, namespace: str, cluster: str, body: Json) -> None:
        """Submit a job. Raises Unreachable."""
        self._head(namespace, cluster).submit(body)

    def stop_job(self, namespace: str, cluster: str, job_id: str) -> None:
        """Ask a job to stop, if it and its head are there."""
        head = self.at(namespace, cluster)
        if head and job_id in head.jobs:
            head.stop(job_id)

    def _head(self, namespace: str, cluster: str) -> RayHead:
        if (head := self.at(namespace, cluster)) is None:
            raise Unreachable(f"{namespace}/{cluster}")
        return head

    def _free_address(self) -> str:
        while True:
            address = ".".join(["127", *(str(self._random.randint(1, 254)) for _ in range(3))])
            with socket.socket() as probe:
                try:
                    probe.bind((address, DASHBOARD))
                except OSError:
                    continue
            return address
