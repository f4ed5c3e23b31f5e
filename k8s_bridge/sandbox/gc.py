"""Garbage collection by owner references, as the garbage collector of kube-controller-manager does it.

An object whose owners are all gone is deleted; an owner being deleted in the foreground waits for the
dependents that block it; one deleted with Orphan leaves its dependents without that reference.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from k8s_bridge.sandbox.apiserver.deletion import FOREGROUND, ORPHAN
from k8s_bridge.sandbox.apiserver.errors import ApiError, Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import ALL, NAMESPACES, Kind, Propagation
from k8s_bridge.sandbox.apiserver.storage import Storage

_BATCH = 200  # objects looked at before others on the event loop have their turn
_MANAGER = "kube-controller-manager"

Ref = tuple[Kind, str, str]  # kind, namespace, name


class GarbageCollector:
    """Watches all kinds and collects. Nothing happens until `process` or `run` is called."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._alive: dict[str, Ref] = {}
        self._dependents: dict[str, set[Ref]] = {}
        self._owners: dict[Ref, frozenset[str]] = {}
        self._todo: deque[Ref] = deque()
        self._wake = asyncio.Event()
        self._unsubscribe: list[Callable[[], None]] = []
        for kind in ALL:
            for obj in storage.list(kind):
                self._see(kind, Change.ADDED, obj)
            self._unsubscribe.append(storage.subscribe(kind, partial(self._see, kind)))

    async def run(self) -> None:
        """Collect until cancelled."""
        try:
            while True:
                await self._wake.wait()
                await asyncio.sleep(0)
                if self.process(limit=_BATCH) < _BATCH:
                    self._wake.clear()
        finally:
            for unsubscribe in self._unsubscribe:
                unsubscribe()

    def process(self, *, limit: int | None = None) -> int:
        """Collect what is due, `limit` objects at most; how many were looked at."""
        done = 0
        while self._todo and done != limit:
            self._collect(self._todo.popleft())
            done += 1
        return done

    def _see(self, kind: Kind, change: Change, obj: Json) -> None:
        meta = obj["metadata"]
        ref = (kind, meta.get("namespace", ""), meta["name"])
        if change is Change.DELETED:
            self._forget(ref, meta["uid"])
        else:
            self._alive[meta["uid"]] = ref
            self._index(ref, meta.get("ownerReferences") or ())
            self._due(ref)

    def _index(self, ref: Ref, references: Sequence[Json]) -> None:
        owners = frozenset(reference["uid"] for reference in references)
        had = self._owners.get(ref, frozenset())
        for uid in had - owners:
            self._drop(uid, ref)
        for uid in owners - had:
            self._dependents.setdefault(uid, set()).add(ref)
        if owners:
            self._owners[ref] = owners
        else:
            self._owners.pop(ref, None)

    def _drop(self, uid: str, ref: Ref) -> None:
        dependents = self._dependents.get(uid, set())
        dependents.discard(ref)
        if not dependents:
            self._dependents.pop(uid, None)
        if uid in self._alive:
            self._due(self._alive[uid])

    def _forget(self, ref: Ref, uid: str) -> None:
        self._alive.pop(uid, None)
        self._index(ref, ())
        for dependent in sorted(self._dependents.get(uid, ()), key=_order):
            self._due(dependent)
        if ref[0] is NAMESPACES:
            for kind in ALL:
                self._due(*((kind, ref[2], row.key[1]) for row in self._storage.rows(kind, namespace=ref[2])))

    def _due(self, *refs: Ref) -> None:
        self._todo.extend(refs)
        self._wake.set()

    def _collect(self, ref: Ref) -> None:
        obj = self._storage.find(*ref)
        if obj is None:
            return
        finalizers = obj["metadata"].get("finalizers") or ()
        if "deletionTimestamp" in obj["metadata"] and FOREGROUND in finalizers:
            self._wait_for_dependents(ref, obj)
        elif "deletionTimestamp" in obj["metadata"] and ORPHAN in finalizers:
            self._orphan_dependents(ref, obj)
        elif self._is_orphaned(ref, obj):
            self._delete(ref, obj, Propagation.BACKGROUND)

    def _is_orphaned(self, ref: Ref, obj: Json) -> bool:
        kind, namespace, _ = ref
        if kind.namespaced and self._storage.find(NAMESPACES, "", namespace) is None:
            return True
        owners = self._owners.get(ref, frozenset())
        gone = {uid for uid in owners if uid not in self._alive}
        if gone and gone != owners:
            self._release(ref, obj, gone)
        return bool(gone) and gone == owners

    def _wait_for_dependents(self, ref: Ref, obj: Json) -> None:
        blocking = list(self._blocking(obj["metadata"]["uid"]))
        for dependent, found in blocking:
            if "deletionTimestamp" not in found["metadata"]:
                self._delete(dependent, found, Propagation.FOREGROUND)
        if not list(self._blocking(obj["metadata"]["uid"])):
            self._finish(ref, FOREGROUND)

    def _blocking(self, uid: str) -> Iterator[tuple[Ref, Json]]:
        for dependent in sorted(self._dependents.get(uid, ()), key=_order):
            found = self._storage.find(*dependent)
            references = (found or {}).get("metadata", {}).get("ownerReferences") or ()
            if found and any(r["uid"] == uid and r.get("blockOwnerDeletion") for r in references):
                yield dependent, found

    def _orphan_dependents(self, ref: Ref, obj: Json) -> None:
        uid = obj["metadata"]["uid"]
        for dependent in sorted(self._dependents.get(uid, ()), key=_order):
            found = self._storage.find(*dependent)
            if found is not None:
                self._release(dependent, found, {uid})
        self._finish(ref, ORPHAN)

    def _release(self, ref: Ref, obj: Json, owners: set[str]) -> None:
        kept = [r for r in obj["metadata"].get("ownerReferences") or () if r["uid"] not in owners]
        self._write(ref, {"ownerReferences": kept or None})

    def _finish(self, ref: Ref, finalizer: str) -> None:
        obj = self._storage.find(*ref)
        if obj is None:
            return
        kept = [name for name in obj["metadata"].get("finalizers") or () if name != finalizer]
        self._write(ref, {"finalizers": kept or None})

    def _write(self, ref: Ref, meta: Json) -> None:
        self._storage.patch(*ref, {"metadata": meta}, field_manager=_MANAGER)

    def _delete(self, ref: Ref, obj: Json, propagation: Propagation) -> None:
        try:
            self._storage.delete(*ref, uid=obj["metadata"]["uid"], propagation=propagation)
        except ApiError as error:
            if error.code not in (404, 409):
                raise


def _order(ref: Ref) -> tuple[str, str, str]:
    kind, namespace, name = ref
    return (kind.plural, namespace, name)
