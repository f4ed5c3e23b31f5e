"""A real API server as worlds see theirs: a copy of every object at hand, and a call for each change."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import ALL, Kind
from testbed.certificates import CA, TOKENS
from testbed.places import API

Callback = Callable[[Change, Json], None]
_PAUSE = 0.2
_PATIENCE = 60.0
"""Seconds for a call: on a busy machine an API server can take many."""
_MERGE = {"Content-Type": "application/merge-patch+json"}
_SECRET = ("secrets", "configmaps", "serviceaccounts")
_NOT_OF_WORLDS = ("ray.io", "admissionregistration.k8s.io")
WATCHED = tuple(kind for kind in ALL if kind.plural not in _SECRET and kind.group not in _NOT_OF_WORLDS)


class Mirror:
    """Objects of one namespace and of none, by the methods that the sandbox's Storage has for worlds."""

    def __init__(self, client: httpx.AsyncClient, *, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._objects: dict[Kind, dict[str, Json]] = {kind: {} for kind in ALL}
        self._listeners: dict[Kind, list[Callback]] = {kind: [] for kind in ALL}

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, namespace: str) -> AsyncIterator[Mirror]:
        """A mirror that is complete and follows every change."""
        async with httpx.AsyncClient(**how_to_reach(), timeout=httpx.Timeout(10.0, read=None)) as client:
            mirror = cls(client, namespace=namespace)
            versions = {kind: await mirror._read(kind) for kind in WATCHED}
            tasks = [asyncio.create_task(mirror._follow(kind, versions[kind])) for kind in WATCHED]
            try:
                yield mirror
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def subscribe(self, kind: Kind, callback: Callback) -> None:
        """Have every change of a kind told."""
        self._listeners[kind].append(callback)

    def list(self, kind: Kind, *, namespace: str = "") -> list[Json]:
        """All objects of a kind."""
        del namespace  # there is but one
        return list(self._objects[kind].values())

    def find(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """One object, None when it is not there."""
        del namespace
        return next((obj for obj in self._objects[kind].values() if obj["metadata"]["name"] == name), None)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """One object; KeyError when it is not there."""
        found = self.find(kind, namespace, name)
        if found is None:
            raise KeyError(f"{kind.plural} {name}")
        return found

    def create(self, kind: Kind, obj: Json) -> Json:
        """Create an object. httpx.HTTPStatusError for what the server refuses."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        return self._call("POST", self._path(kind), json=body)

    def delete(self, kind: Kind, namespace: str, name: str, *, grace_seconds: int | None = None) -> None:
        """Delete an object."""
        del namespace
        grace = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        self._call("DELETE", f"{self._path(kind)}/{name}", json=grace)

    def patch(self, kind: Kind, namespace: str, name: str, patch: Json) -> Json:
        """Merge `patch` into an object."""
        del namespace
        return self._call("PATCH", f"{self._path(kind)}/{name}", json=patch)

    def _call(self, method: str, path: str, *, json: Json) -> Json:
        with httpx.Client(**how_to_reach(), timeout=_PATIENCE) as client:
            answer = client.request(method, path, json=json, headers=_MERGE if method == "PATCH" else None)
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.text}")
        return dict(answer.json())

    def _path(self, kind: Kind) -> str:
        root = f"/apis/{kind.group}" if kind.group else "/api"
        place = f"/namespaces/{self._namespace}" if kind.namespaced else ""
        return f"{root}/{kind.version}{place}/{kind.plural}"

    async def _follow(self, kind: Kind, version: str) -> None:
        while True:
            try:
                await self._watch(kind, version)
                version = await self._read(kind)
            except httpx.HTTPError:
                await asyncio.sleep(_PAUSE)

    async def _read(self, kind: Kind) -> str:
        """List; what changed meanwhile is told as well. The version to watch from."""
        answer = (await self._client.get(self._path(kind))).raise_for_status().json()
        there = {obj["metadata"]["uid"]: obj for obj in answer["items"]}
        for uid in self._objects[kind].keys() - there.keys():
            self._note(kind, Change.DELETED, self._objects[kind][uid])
        for obj in there.values():
            self._note(kind, Change.MODIFIED, obj)
        return str(answer["metadata"]["resourceVersion"])

    async def _watch(self, kind: Kind, version: str) -> None:
        query = {"watch": "1", "resourceVersion": version}
        async with self._client.stream("GET", self._path(kind), params=query) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                event = json.loads(line)
                if event["type"] not in Change.__members__:
                    return
                self._note(kind, Change(event["type"]), event["object"])

    def _note(self, kind: Kind, change: Change, obj: Json) -> None:
        uid = obj["metadata"]["uid"]
        if change is Change.DELETED:
            self._objects[kind].pop(uid, None)
        else:
            self._objects[kind][uid] = obj
        for callback in self._listeners[kind]:
            callback(change, obj)


def how_to_reach() -> dict[str, Any]:
    token = TOKENS.read_text().partition(",")[0]
    context = ssl.create_default_context(cafile=str(CA))
    return {"base_url": API, "verify": context, "headers": {"Authorization": f"Bearer {token}"}}
