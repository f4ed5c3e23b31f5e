"""Keeps one table the image of one kind in the API server: list, then watch, for ever.

It is the only writer of its table. It never decides anything and never raises what the API server does:
trouble is reported to the observer and tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Generic, TypeVar

from api.views import Object
from k8s_bridge.core.errors import BridgeError, Retry
from k8s_bridge.kube import backoff
from k8s_bridge.kube.store import Table
from k8s_bridge.kube.transport import KubeClient, Listing, Watch
from k8s_bridge.kube.versions import newer_version
from k8s_bridge.kube.wire import Change, WatchEvent

T = TypeVar("T", bound=Object)

_STOP_SECONDS = 5.0
_WATCH_MIN = 240
_WATCH_SPREAD = 60
_FAILURES_MAX = 3


class Reflector(Generic[T]):
    """Mirrors the objects of `view` in `namespace` ("" = all) that match `label_selector` into `table`.

    `synced` is set once the first complete listing is in. `rand` gives [0, 1) and `clock` monotonic seconds.
    """

    def __init__(  # noqa: PLR0913  # all but the first three have defaults
        self,
        client: KubeClient,
        view: type[T],
        table: Table[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        rand: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.synced = asyncio.Event()
        self.last_contact = float("-inf")
        self._client = client
        self._view = view
        self._table = table
        self._namespace = namespace
        self._label_selector = label_selector
        self._rand = rand
        self._clock = clock
        self._backoff = backoff.Backoff(rand=rand)
        self._stopping = asyncio.Event()
        self._version = ""
        self._failures = 0
        self._watch: Watch[T] | None = None
        self._work: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Make `run` return; a second call changes nothing."""
        self._stopping.set()

    async def run(self) -> None:
        """Mirror until `stop`, then end the open watch and return, within 5 s.

        A request that has not ended by then is left to end by itself or with its client.
        """
        self._work = asyncio.create_task(self._cycle())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({self._work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            if self._watch is not None:
                await self._watch.close()
            await asyncio.wait({self._work, stopping}, timeout=_STOP_SECONDS)
        if self._work.done():
            self._work.result()

    async def _cycle(self) -> None:
        while not self._stopping.is_set():
            after: float | None = None
            try:
                await self._once()
            except BridgeError as error:
                self._failed(error)
                after = error.after if isinstance(error, Retry) else None
            await self._pause(self._backoff.next(at_least=after))

    async def _once(self) -> None:
        if not self._version:
            await self._relist()
        started = self._clock()
        await self._follow()
        self._touch()
        if self._clock() - started > backoff.MAX:
            self._works()

    def _failed(self, error: BridgeError) -> None:
        """List again where the error says so, and where watching on keeps failing (a restored etcd)."""
        self._failures += 1
        if not isinstance(error, Retry) or self._failures >= _FAILURES_MAX:
            self._version = ""
        self._client.observer.on_reflector_error(kind=self._view.KIND, error=error)

    def _works(self) -> None:
        self._failures = 0
        self._backoff.reset()

    async def _relist(self) -> None:
        started = self._clock()
        listing = await self._client.list(
            self._view, namespace=self._namespace, label_selector=self._label_selector
        )
        self._touch()
        observer, kind = self._client.observer, self._view.KIND
        for item in listing.malformed:
            observer.on_malformed(kind=kind, key=item.key, error=item.error)
        self._table.replace(listing.items, keep=_keeper(listing))
        self._version = listing.resource_version
        self.synced.set()
        observer.on_list(kind=kind, items=len(listing.items), seconds=self._clock() - started)

    async def _follow(self) -> None:
        """Watch until it ends; whatever came, the next watch begins after it."""
        if self._stopping.is_set():
            return
        self._watch = self._client.watch(
            self._view,
            resource_version=self._version,
            namespace=self._namespace,
            label_selector=self._label_selector,
            seconds=_WATCH_MIN + int(_WATCH_SPREAD * self._rand()),
        )
        try:
            async with aclosing(self._watch.events()) as events:
                async for event in events:
                    self._take(event)
        finally:
            self._watch = None

    def _take(self, event: WatchEvent[T]) -> None:
        self._touch()
        self._works()
        self._version = event.resource_version or self._version
        if event.change is Change.MALFORMED:
            self._client.observer.on_malformed(kind=self._view.KIND, key=event.key, error=event.error)
        elif event.change is Change.DELETED:
            self._deleted(event)
        elif event.object is not None:
            self._table.upsert(event.object)

    def _deleted(self, event: WatchEvent[T]) -> None:
        row = self._table.get(event.key)
        if row is not None and not newer_version(row.metadata.resource_version, event.resource_version):
            self._table.remove(event.key)

    def _touch(self) -> None:
        self.last_contact = self._clock()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _keeper(listing: Listing[T]) -> Callable[[T], bool]:
    """Which rows outlive a listing they are not in: those whose object was there but malformed.

    Where not even the name of a malformed object is readable, it may be any of them.
    """
    keys = {item.key for item in listing.malformed}
    return lambda row: row.key in keys or "" in keys
