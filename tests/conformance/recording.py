"""Watches everything in a test's namespace, and its queues and all nodes, from before anything is there."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx
from conformance.story import Entry

from k8s_bridge.sandbox.apiserver.kinds import (
    CLUSTERQUEUES,
    EVENTS,
    JOBS,
    JOBSETS,
    LOCALQUEUES,
    NODES,
    PODS,
    WORKLOADS,
    Kind,
)

_WATCHED = (WORKLOADS, JOBSETS, JOBS, PODS, EVENTS, LOCALQUEUES, CLUSTERQUEUES, NODES)


def path(kind: Kind, namespace: str, name: str = "") -> str:
    """The path of a collection or of an object; `namespace` is left out for kinds without one."""
    root = f"/apis/{kind.group}" if kind.group else "/api"
    place = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"{root}/{kind.version}{place}/{kind.plural}" + (f"/{name}" if name else "")


class Recording:
    """All watch events so far, and a way to wait for the next."""

    def __init__(self, http: httpx.AsyncClient, namespace: str) -> None:
        self.entries: list[Entry] = []
        self._http = http
        self._namespace = namespace
        self._news = asyncio.Event()

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, http: httpx.AsyncClient, namespace: str) -> AsyncIterator[Recording]:
        """A recording of everything from now on."""
        recording = cls(http, namespace)
        tasks = [
            asyncio.create_task(recording._follow(kind, await recording._begin(kind))) for kind in _WATCHED
        ]
        try:
            yield recording
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def news(self, seconds: float) -> bool:
        """Wait for the next change, other than of a node; False when there is none for so long."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def _begin(self, kind: Kind) -> str:
        answer = (await self._http.get(path(kind, self._namespace))).raise_for_status().json()
        for obj in answer["items"]:
            whole = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
            self._note("ADDED", whole)
        return str(answer["metadata"]["resourceVersion"])

    async def _follow(self, kind: Kind, version: str) -> None:
        query = {"watch": "1", "resourceVersion": version}
        async with self._http.stream("GET", path(kind, self._namespace), params=query) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                event = json.loads(line)
                self._note(event["type"], event["object"])
        raise AssertionError(f"the watch of {kind.plural} ended")

    def _note(self, type_: str, obj: dict) -> None:
        if obj["kind"] == "ClusterQueue" and not obj["metadata"]["name"].startswith(f"{self._namespace}-"):
            return
        self.entries.append(Entry(version=int(obj["metadata"]["resourceVersion"]), type=type_, obj=obj))
        if obj["kind"] != "Node":
            self._news.set()
