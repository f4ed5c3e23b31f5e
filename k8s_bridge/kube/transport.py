"""The Kubernetes verbs that the bridges use, on top of `http`.

Everything that leaves here is a view, bytes, or one of the three errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import msgspec

from api.views import Object
from k8s_bridge.core import naming
from k8s_bridge.core.effects import Apply, Delete, ObjectRef, Patch
from k8s_bridge.core.errors import Missing
from k8s_bridge.kube import paths
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.kube.errors import Gone
from k8s_bridge.kube.http import Call, Http, Limits, MayWrite, Stream
from k8s_bridge.kube.observe import Observer
from k8s_bridge.kube.wire import Codec, Malformed, Page, WatchEvent

T = TypeVar("T", bound=Object)

PAGE = 500
_RESTARTS = 3
_AUTHORIZATION = "authorization.k8s.io/v1"
_SILENCE_MARGIN = 15.0
_MANAGER = {"fieldManager": naming.FIELD_MANAGER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """A complete list as of `resource_version`, without the malformed objects."""

    items: list[T]
    malformed: list[Malformed]
    resource_version: str


class Watch(Generic[T]):
    """An open watch: iterate `events`; `close` from another task ends the iteration."""

    def __init__(self, stream: Stream, codec: Codec[T]) -> None:
        self._stream = stream
        self._codec = codec

    async def events(self) -> AsyncGenerator[WatchEvent[T], None]:
        """The events as they come. Gone: list again. An end without error is the server's own time limit."""
        async with contextlib.aclosing(self._stream.lines()) as lines:
            async for line in lines:
                yield self._codec.event(line)

    def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        return self.events()

    async def close(self) -> None:
        """End it now; the reader sees an ordinary end."""
        await self._stream.close()


class KubeClient:
    """A client of one API server. Close it with `aclose`, or use it as an async context manager.

    `may_write` is asked before each single change is sent: Conflict when the lease is over.
    """

    def __init__(
        self,
        server: ApiServer,
        *,
        limits: Limits | None = None,
        observer: Observer | None = None,
        may_write: MayWrite = lambda: True,
    ) -> None:
        self.server = server
        self.observer = observer or Observer()
        self._http = Http(server, limits=limits or Limits(), observer=self.observer, may_write=may_write)
        self._codecs: dict[type[Object], Codec[Any]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End watches, give calls under way their farewell time, close all connections."""
        await self._http.aclose()

    async def get(self, view: type[T], *, name: str, namespace: str = "") -> T:
        """One object. Missing when it is not there."""
        path = paths.of_view(view, namespace=namespace, name=name)
        body = await self._http.send(Call(method="GET", path=path, kind=view.KIND))
        return self._codec(view).item(body)

    async def document(self, path: str) -> bytes:
        """What the server says about itself, such as /version or /apis/batch, as JSON."""
        return await self._http.send(Call(method="GET", path=path, kind="Document"))

    async def review(self, kind: str, *, spec: Mapping[str, Any]) -> bytes:
        """The answer to a question of authorization.k8s.io/v1, as JSON; nothing is stored."""
        manifest = {"apiVersion": _AUTHORIZATION, "kind": kind, "spec": spec}
        path = f"/apis/{_AUTHORIZATION}/{kind.lower()}s"
        content = msgspec.json.encode(manifest)
        return await self._http.send(Call(method="REVIEW", path=path, kind=kind, content=content))

    async def list_pages(
        self, view: type[T], *, namespace: str = "", label_selector: str = ""
    ) -> AsyncIterator[Page[T]]:
        """A list, page by page. When its snapshot expires on the way it begins again with page number 0."""
        restarts = number = 0
        more = ""
        while True:
            try:
                page = await self._page(
                    view, namespace=namespace, query=_page_query(label_selector, more), number=number
                )
            except Gone:
                if not more or restarts == _RESTARTS:
                    raise
                restarts, number, more = restarts + 1, 0, ""
                continue
            yield page
            number, more = number + 1, page.more
            if not more:
                return

    async def list(self, view: type[T], *, namespace: str = "", label_selector: str = "") -> Listing[T]:
        """A complete list."""
        listing: Listing[T] = Listing(items=[], malformed=[], resource_version="")
        async for page in self.list_pages(view, namespace=namespace, label_selector=label_selector):
            if page.number == 0:
                listing = Listing(items=[], malformed=[], resource_version=page.resource_version)
            listing.items.extend(page.items)
            listing.malformed.extend(page.malformed)
        return listing

    def watch(
        self,
        view: type[T],
        *,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        seconds: int = 270,
    ) -> Watch[T]:
        """What changes after `resource_version`, until the server ends it after `seconds`.

        Nothing is sent before the first iteration.
        """
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
            **({"labelSelector": label_selector} if label_selector else {}),
        }
        path = paths.of_view(view, namespace=namespace)
        call = Call(method="WATCH", path=path, kind=view.KIND, query=query)
        return Watch(self._http.stream(call, silence=seconds + _SILENCE_MARGIN), self._codec(view))

    async def create(self, ref: ObjectRef, *, manifest: Mapping[str, Any]) -> bytes:
        """Create; the answer is the object as JSON. AlreadyExists when the name is taken."""
        call = Call(
            method="POST",
            path=paths.of_collection(ref),
            kind=ref.kind,
            query=_MANAGER,
            content=msgspec.json.encode(manifest),
        )
        return await self._http.send(call)

    async def rehearse(self, ref: ObjectRef, *, manifest: Mapping[str, Any]) -> bytes:
        """What creating it would answer; admission is asked, and nothing is stored."""
        path = paths.of_collection(ref)
        content = msgspec.json.encode(manifest)
        query = {**_MANAGER, "dryRun": "All"}
        return await self._http.send(
            Call(method="REVIEW", path=path, kind=ref.kind, query=query, content=content)
        )

    async def apply(self, effect: Apply) -> bytes:
        """Server-side apply, taking over fields that others own; the answer is the object as JSON.

        Conflict when `ref.uid` is set and another object, or none, has that name.
        """
        call = Call(
            method="PATCH",
            path=paths.of_ref(effect.ref),
            kind=effect.ref.kind,
            query={**_MANAGER, "force": "true"},
            content=msgspec.json.encode(_with_metadata(effect.manifest, uid=effect.ref.uid)),
            content_type="application/apply-patch+yaml",
        )
        return await self._http.send(call)

    async def patch(self, effect: Patch) -> bytes:
        """JSON merge patch; the answer is the object as JSON. Conflict when a precondition does not hold."""
        ref, version = effect.ref, effect.resource_version
        call = Call(
            method="PATCH",
            path=paths.of_ref(ref, subresource=effect.subresource),
            kind=ref.kind,
            query=_MANAGER,
            content=msgspec.json.encode(_with_metadata(effect.patch, uid=ref.uid, resourceVersion=version)),
            content_type="application/merge-patch+json",
        )
        return await self._http.send(call)

    async def delete(self, effect: Delete) -> None:
        """Delete in the background. Not there is success; Conflict when the uid is another's."""
        ref = effect.ref
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            **({"preconditions": {"uid": ref.uid}} if ref.uid else {}),
        }
        content = msgspec.json.encode(options)
        with contextlib.suppress(Missing):
            await self._http.send(
                Call(method="DELETE", path=paths.of_ref(ref), kind=ref.kind, content=content)
            )

    async def _page(self, view: type[T], *, namespace: str, query: Mapping[str, str], number: int) -> Page[T]:
        path = paths.of_view(view, namespace=namespace)
        body = await self._http.send(Call(method="LIST", path=path, kind=view.KIND, query=query))
        return self._codec(view).page(body, number=number)

    def _codec(self, view: type[T]) -> Codec[T]:
        if view not in self._codecs:
            self._codecs[view] = Codec(view)
        return self._codecs[view]


def _page_query(label_selector: str, more: str) -> dict[str, str]:
    query = {"limit": str(PAGE), "continue": more, "labelSelector": label_selector}
    return {name: value for name, value in query.items() if value}


def _with_metadata(manifest: Mapping[str, Any], **preconditions: str) -> Mapping[str, Any]:
    """`manifest` with those preconditions that are set, in its metadata."""
    held = {name: value for name, value in preconditions.items() if value}
    return {**manifest, "metadata": {**manifest.get("metadata", {}), **held}} if held else manifest
