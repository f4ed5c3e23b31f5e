"""An API server, the sandbox's or a real one, as the tests speak to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx

Json = dict[str, Any]
OTHER_UID = "11111111-1111-1111-1111-111111111111"
_MEDIA = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
    "strategic": "application/strategic-merge-patch+json",
}
_GROUPS = {
    "configmaps": ("v1", "ConfigMap"),
    "events": ("v1", "Event"),
    "pods": ("v1", "Pod"),
    "leases": ("coordination.k8s.io/v1", "Lease"),
    "jobs": ("batch/v1", "Job"),
    "localqueues": ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    "workloads": ("kueue.x-k8s.io/v1beta2", "Workload"),
    "jobsets": ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "workloadmixings": ("k8s-bridge.x-k8s.io/v1alpha1", "WorkloadMixing"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    code: int
    body: Json

    @property
    def said(self) -> tuple[int, str]:
        """Code and reason."""
        return self.code, self.body.get("reason", "")

    @property
    def message(self) -> str:
        return self.body.get("message", "")

    @property
    def causes(self) -> set[tuple[str, str]]:
        """(field, reason); real servers repeat some."""
        listed = self.body.get("details", {}).get("causes") or ()
        return {(cause["field"], cause["reason"]) for cause in listed}

    @property
    def meta(self) -> Json:
        return self.body["metadata"]


class Api:
    """Calls within one namespace."""

    def __init__(self, http: httpx.AsyncClient, namespace: str) -> None:
        self.http = http
        self.namespace = namespace

    def manifest(self, plural: str, name: str, *, meta: Json | None = None, **parts: Any) -> Json:
        """A document; a LocalQueue gets the spec it needs."""
        api_version, kind = _GROUPS[plural]
        document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **(meta or {})}}
        if plural == "localqueues":
            parts.setdefault("spec", {"clusterQueue": "cq"})
        return {**document, **parts}

    def path(self, plural: str, name: str = "", subresource: str = "") -> str:
        api_version, _ = _GROUPS[plural]
        root = "/apis" if "/" in api_version else "/api"
        rest = "/".join(part for part in (plural, name, subresource) if part)
        return f"{root}/{api_version}/namespaces/{self.namespace}/{rest}"

    async def create(self, plural: str, name: str, *, query: Json | None = None, **parts: Any) -> Answer:
        document = self.manifest(plural, name, **parts)
        return await self.call("POST", self.path(plural), document, query=query)

    async def get(self, plural: str, name: str) -> Answer:
        return await self.call("GET", self.path(plural, name))

    async def list(self, plural: str, **query: str) -> Answer:
        return await self.call("GET", self.path(plural), query=query)

    async def names(self, plural: str, **query: str) -> list[str]:
        answer = await self.list(plural, **query)
        assert answer.code == 200, answer.body
        return [item["metadata"]["name"] for item in answer.body["items"]]

    async def put(self, plural: str, name: str, **parts: Any) -> Answer:
        return await self.call("PUT", self.path(plural, name), self.manifest(plural, name, **parts))

    async def patch(
        self, plural: str, name: str, patch: Any, *, how: str = "merge", sub: str = "", **query: str
    ) -> Answer:
        path = self.path(plural, name, sub)
        return await self.call("PATCH", path, patch, query=query, media=_MEDIA[how])

    async def apply(self, plural: str, name: str, *, by: str, sub: str = "", **parts: Any) -> Answer:
        """Server-side apply; `query` among the parts is the query."""
        query = {"fieldManager": by, **parts.pop("query", {})}
        document = self.manifest(plural, name, **parts)
        return await self.patch(plural, name, document, how="apply", sub=sub, **query)

    async def delete(self, plural: str, name: str, **options: Any) -> Answer:
        return await self.call("DELETE", self.path(plural, name), options or None)

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Json | None = None,
        media: str = "application/json",
    ) -> Answer:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": media} if content else {}
        answer = await self.http.request(method, path, content=content, headers=headers, params=query or None)
        return Answer(answer.status_code, answer.json())

    @contextlib.asynccontextmanager
    async def watching(self, plural: str, **query: str) -> AsyncIterator[asyncio.Queue[Json]]:
        """The events of a watch as they come; None at its end."""
        events: asyncio.Queue[Any] = asyncio.Queue()
        params = {"watch": "1", "timeoutSeconds": "60", **query}
        async with self.http.stream("GET", self.path(plural), params=params) as response:
            assert response.status_code == 200, await response.aread()

            async def read() -> None:
                async for line in response.aiter_lines():
                    events.put_nowait(json.loads(line))
                events.put_nowait(None)

            reader = asyncio.create_task(read())
            try:
                yield events
            finally:
                reader.cancel()
                await asyncio.gather(reader, return_exceptions=True)
