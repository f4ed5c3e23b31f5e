"""The whole process of `k8s-bridge webhook`: sees the WorkloadMixings, is trusted, and answers.

Every instance answers, so there is no lease; it writes nothing but its certificate and what vouches for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.reflector import Reflector
from k8s_bridge.kube.store import Table
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.kube.versions import table_of
from k8s_bridge.ray.admission import certificates
from k8s_bridge.ray.admission.application import application
from k8s_bridge.ray.admission.certificates import Pair
from k8s_bridge.ray.admission.keeper import Keeper, Place
from k8s_bridge.runtime.http import HttpServer
from k8s_bridge.runtime.logging import Logger
from k8s_bridge.runtime.settings import Bind
from k8s_bridge.runtime.sources import MixingObject
from k8s_bridge.runtime.together import run_together


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`namespaces` are those that are served; () is the instance's own."""

    namespaces: tuple[str, ...]
    listen: Bind
    place: Place


class Webhook:
    """One instance. SettingsError when its address is taken."""

    def __init__(self, settings: Settings, *, server: ApiServer, log: Logger) -> None:
        self._client = KubeClient(server)
        self._tables: dict[str, Table[MixingObject]] = {
            namespace: table_of(MixingObject) for namespace in settings.namespaces or (server.namespace,)
        }
        self._reflectors = [
            Reflector(self._client, MixingObject, table, namespace=namespace)
            for namespace, table in self._tables.items()
        ]
        self._tls = certificates.context()
        self._keeper = Keeper(
            self._client,
            settings.place,
            present=self._present,
            failed=lambda error: log.warning("certificate", why=str(error)),
            now=certificates.utc_now,
        )
        app = application(mixings=self._mixings, unready=self._unready)
        self._http = HttpServer(app, settings.listen, tls=self._tls)

    @property
    def address(self) -> Bind:
        """Where it listens."""
        return self._http.address

    async def run(self, stop: asyncio.Event) -> None:
        """Answer until `stop`."""
        parts = {
            "http": self._http.run(),
            "certificate": self._keeper.run(),
            **{f"reflector {n}": reflector.run() for n, reflector in enumerate(self._reflectors)},
        }
        await run_together(parts, stopping=stop, end=self._end)

    async def _end(self, running: set[asyncio.Task[None]]) -> None:
        for reflector in self._reflectors:
            reflector.stop()
        self._keeper.stop()
        self._http.stop()
        await self._client.aclose()
        await asyncio.wait(running)

    def _present(self, pair: Pair) -> None:
        certificates.present(pair, self._tls)

    def _unready(self) -> str:
        if not all(reflector.synced.is_set() for reflector in self._reflectors):
            return "the WorkloadMixings are not listed yet"
        return "" if self._keeper.trusted else "the API server does not trust the certificate yet"

    def _mixings(self, namespace: str) -> Iterator[dict[str, Any]]:
        for found in self._tables[namespace].values() if namespace in self._tables else ():
            meta = {"name": found.metadata.name, "namespace": namespace}
            yield {"metadata": meta, "spec": found.spec}
