"""The API server's storage, called in process: synchronous, on one thread, with the real semantics.

Objects that go in are copied. Objects that come out are the stored versions themselves: they must never be
changed; `records.copy` makes one that may be.
"""

from __future__ import annotations

import random
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver import selectors
from k8s_bridge.sandbox.apiserver.deletion import deletion, is_finished
from k8s_bridge.sandbox.apiserver.errors import (
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
    uid_conflict,
)
from k8s_bridge.sandbox.apiserver.history import Change, Event, EventLog, restamped
from k8s_bridge.sandbox.apiserver.kinds import ALL, NAMESPACES, Kind, Propagation
from k8s_bridge.sandbox.apiserver.patches import PatchType, json_patch, merge, strategic
from k8s_bridge.sandbox.apiserver.records import Json, Key, Stored, Table, copy
from k8s_bridge.sandbox.apiserver.writes import Birth, prepared_for_create, prepared_for_update
from k8s_bridge.sandbox.clock import Clock, SystemClock, stamp

Callback = Callable[[Change, Json], None]
Admission = Callable[[Json, Json | None], Json]
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


class Storage:
    """All objects of the sandbox. Raises ApiError for what the real server refuses."""

    def __init__(self, *, clock: Clock | None = None, seed: int = 0, history: int = 10_000) -> None:
        self.clock: Clock = clock or SystemClock()
        self.rv = 1
        self.logs: dict[Kind, EventLog] = {kind: EventLog(size=history) for kind in ALL}
        self._tables: dict[Kind, Table] = {kind: Table() for kind in ALL}
        self._random = random.Random(seed)  # noqa: S311 - names and uids only have to differ, and to repeat by seed
        self._callbacks: dict[Kind, list[Callback]] = {kind: [] for kind in ALL}
        self._admissions: dict[Kind, list[Admission]] = {kind: [] for kind in ALL}
        self._undelivered: deque[tuple[Kind, Event]] = deque()
        self._delivering = False
        for name in ("default", "kube-system"):
            self.create(NAMESPACES, {"metadata": {"name": name}, "status": {"phase": "Active"}})

    def admit(self, kind: Kind, admission: Admission) -> None:
        """Have `admission(new, old)` change or refuse every create (old None) and update of a kind."""
        self._admissions[kind].append(admission)

    def subscribe(self, kind: Kind, callback: Callback) -> Callable[[], None]:
        """Call back after each change, in order, until the returned function is called.

        A callback may write: those changes are delivered after every subscriber has seen this one.
        """
        callbacks = self._callbacks[kind]
        callbacks.append(callback)
        return lambda: callbacks.remove(callback)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """The object, or 404."""
        return self._require(kind, (namespace, name)).obj

    def find(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """The object, or None."""
        stored = self._tables[kind].get((namespace, name))
        return stored.obj if stored else None

    def list(
        self, kind: Kind, *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> list[Json]:
        """The selected objects, ordered by namespace and name; namespace "" means all."""
        selection = selectors.both(selectors.labels(label_selector), selectors.fields(kind, field_selector))
        return [stored.obj for stored in self.rows(kind, namespace=namespace, selection=selection)]

    def rows(
        self, kind: Kind, *, namespace: str = "", selection: selectors.Predicate | None = None
    ) -> Sequence[Stored]:
        """The stored versions behind a list."""
        rows = self._tables[kind].rows(namespace)
        return rows if selection is None else [stored for stored in rows if selection(stored.obj)]

    def create(self, kind: Kind, obj: Mapping[str, Any], *, field_manager: str = "") -> Json:
        """Store a new object. 409 AlreadyExists, 404 without its namespace, 422 if it is not valid."""
        del field_manager
        birth = Birth(uid=self._uid(), created=stamp(self.clock.now()), suffix=self._suffix())
        new = prepared_for_create(kind, copy(obj), birth)
        new = self._admitted(kind, new, None)
        meta = new["metadata"]
        key: Key = (meta.get("namespace", ""), meta["name"])
        if kind.namespaced and self._tables[NAMESPACES].get(("", key[0])) is None:
            raise not_found(NAMESPACES, key[0])
        if self._tables[kind].get(key) is not None:
            raise already_exists(kind, key[1])
        return self._commit(kind, Change.ADDED, new, None).obj

    def update(
        self, kind: Kind, obj: Mapping[str, Any], *, subresource: str = "", field_manager: str = ""
    ) -> Json:
        """Replace the object (or its status). 409 Conflict if obj carries another version or uid."""
        del field_manager
        meta = obj.get("metadata") or {}
        old = self._require(kind, (meta.get("namespace", ""), meta.get("name", "")))
        if kind.custom and not meta.get("resourceVersion"):
            text = "Invalid value: 0x0: must be specified for an update"
            raise invalid(kind, old.key[1], [("metadata.resourceVersion", "FieldValueInvalid", text)])
        return self._replace(kind, old, copy(obj), subresource)

    def patch(  # noqa: PLR0913 - the parameters of the API's own PATCH
        self,
        kind: Kind,
        namespace: str,
        name: str,
        patch: Any,
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = "",
    ) -> Json:
        """Patch the object (or its status)."""
        del field_manager
        old = self._require(kind, (namespace, name))
        document = copy(patch)
        match patch_type:
            case PatchType.MERGE:
                new = merge(old.obj, document)
            case PatchType.JSON:
                new = json_patch(old.obj, document)
            case PatchType.STRATEGIC:
                new = strategic(old.obj, document)
            case PatchType.APPLY:
                raise bad_request("apply is not served yet")
        return self._replace(kind, old, new, subresource)

    def delete(  # noqa: PLR0913 - metav1.DeleteOptions
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = Propagation.BACKGROUND,
        grace_seconds: int | None = None,
    ) -> Json:
        """Delete, or mark as being deleted while finalizers or a grace period hold the object.

        Returns the last state. 404 if it is not there, 409 if a precondition does not hold.
        """
        old = self._require(kind, (namespace, name))
        _check_deletion(kind, old, uid=uid, resource_version=resource_version)
        todo = deletion(kind, old.obj, now=self.clock.now(), propagation=propagation, grace=grace_seconds)
        if todo.marked is not old.obj:
            old = self._commit(kind, Change.MODIFIED, todo.marked, old)
        return self._commit(kind, Change.DELETED, old.obj, old).obj if todo.gone else old.obj

    def _require(self, kind: Kind, key: Key) -> Stored:
        stored = self._tables[kind].get(key)
        if stored is None:
            raise not_found(kind, key[1])
        return stored

    def _replace(self, kind: Kind, old: Stored, new: Json, subresource: str) -> Json:
        new = prepared_for_update(kind, old.obj, new, subresource=subresource)
        new = self._admitted(kind, new, old.obj)
        if new == old.obj:
            return old.obj
        if "deletionTimestamp" in new["metadata"] and is_finished(new["metadata"], graceful=kind.graceful):
            return self._commit(kind, Change.DELETED, old.obj, old).obj
        return self._commit(kind, Change.MODIFIED, new, old).obj

    def _admitted(self, kind: Kind, new: Json, old: Json | None) -> Json:
        for admission in self._admissions[kind]:
            new = admission(new, old)
        return new

    def _commit(self, kind: Kind, change: Change, obj: Json, previous: Stored | None) -> Stored:
        self.rv += 1
        stored = Stored(restamped(obj, self.rv), self.rv)
        if change is Change.DELETED:
            self._tables[kind].remove(stored.key)
        else:
            self._tables[kind].put(stored)
        event = Event(change, stored, previous)
        self.logs[kind].append(event)
        self._undelivered.append((kind, event))
        self._deliver()
        return stored

    def _deliver(self) -> None:
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._undelivered:
                kind, event = self._undelivered.popleft()
                for callback in tuple(self._callbacks[kind]):
                    callback(event.change, event.stored.obj)
        finally:
            self._delivering = False

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _suffix(self) -> str:
        return "".join(self._random.choices(_SUFFIX, k=5))


def _check_deletion(kind: Kind, stored: Stored, *, uid: str, resource_version: str) -> None:
    have = stored.obj["metadata"]["uid"]
    if uid and uid != have:
        raise uid_conflict(kind, stored.key[1], wanted=uid, found=have)
    if resource_version and resource_version != str(stored.rv):
        raise conflict(kind, stored.key[1])


def create_all(storage: Storage, objects: Iterable[tuple[Kind, Json]]) -> None:
    """Create each, in order."""
    for kind, obj in objects:
        storage.create(kind, obj)
