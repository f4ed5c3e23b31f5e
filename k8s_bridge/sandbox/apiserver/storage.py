"""The API server's storage, called in process: synchronous, on one thread, with the real semantics.

Objects that go in are copied. Objects that come out are the stored versions themselves: they must never be
changed; `records.copy` makes one that may be.
"""

from __future__ import annotations

import contextlib
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver import builtin, checks, selectors
from k8s_bridge.sandbox.apiserver.apply import Force, apply, configuration
from k8s_bridge.sandbox.apiserver.deletion import deletion, is_finished
from k8s_bridge.sandbox.apiserver.errors import (
    NOT_THERE,
    Json,
    already_exists,
    conflict,
    invalid,
    not_found,
)
from k8s_bridge.sandbox.apiserver.fieldsets import applied_fields
from k8s_bridge.sandbox.apiserver.history import Change, Event, EventLog
from k8s_bridge.sandbox.apiserver.kinds import ALL, NAMESPACES, Kind, Propagation
from k8s_bridge.sandbox.apiserver.notify import Callback, Notifier
from k8s_bridge.sandbox.apiserver.ownership import Operation, Owner, Owners, Writer, after_update, sealed
from k8s_bridge.sandbox.apiserver.patches import PatchType, patched
from k8s_bridge.sandbox.apiserver.records import Key, Stored, Table, copy
from k8s_bridge.sandbox.apiserver.writes import (
    Birth,
    generated_name,
    prepared_for_create,
    prepared_for_update,
)
from k8s_bridge.sandbox.clock import Clock, SystemClock, stamp

Admission = Callable[[Json, Json | None], Json]
OWN_MANAGER = "sandbox"  # the field manager of in-process writers that do not name themselves
_PRECONDITIONS = ("uid", "resourceVersion")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


class Storage:
    """All objects of the sandbox. Raises ApiError for what the real server refuses."""

    def __init__(self, *, clock: Clock | None = None, seed: int = 0, history: int = 10_000) -> None:
        self.clock: Clock = clock or SystemClock()
        self.rv = 1
        self.logs: dict[Kind, EventLog] = {kind: EventLog(size=history) for kind in ALL}
        self._tables: dict[Kind, Table] = {kind: Table() for kind in ALL}
        self._random = random.Random(seed)  # noqa: S311 - names and uids only have to differ, and to repeat by seed
        self._admissions: dict[Kind, list[Admission]] = {kind: [] for kind in ALL}
        self._last_admissions: dict[Kind, list[Admission]] = {kind: [] for kind in ALL}
        self._notifier = Notifier()
        self._rehearsing = False
        for name in ("default", "kube-system"):
            self.create(NAMESPACES, {"metadata": {"name": name}})

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[None]:
        """What is written within answers as always and changes nothing (dryRun)."""
        self._rehearsing = True
        try:
            yield
        finally:
            self._rehearsing = False

    def admit(self, kind: Kind, admission: Admission) -> None:
        """Have `admission(new, old)` change or refuse every create (old None) and update of a kind."""
        self._admissions[kind].append(admission)

    def admit_last(self, kind: Kind, admission: Admission) -> None:
        """The same, after all that `admit` has brought or will bring."""
        self._last_admissions[kind].append(admission)

    def subscribe(self, kind: Kind, callback: Callback) -> Callable[[], None]:
        """Call back after each change, in order, until the returned function is called.

        A callback may write: those changes are delivered after every subscriber has seen this one.
        """
        return self._notifier.subscribe(kind, callback)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """The object, or 404."""
        return self._require(kind, (namespace, name)).obj

    def row(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        """The stored version behind `find`."""
        return self._tables[kind].get((namespace, name))

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

    def create(self, kind: Kind, obj: Mapping[str, Any], *, field_manager: str = OWN_MANAGER) -> Json:
        """Store a new object. 409 AlreadyExists, 404 without its namespace, 422 if it is not valid."""
        writer = self._writer(kind, field_manager, "")
        return self._create(kind, copy(obj), lambda new: after_update((), None, new, writer))

    def update(
        self,
        kind: Kind,
        obj: Mapping[str, Any],
        *,
        subresource: str = "",
        field_manager: str = OWN_MANAGER,
    ) -> Json:
        """Replace the object (or its status). 409 Conflict if obj carries another version or uid."""
        meta = obj.get("metadata") or {}
        old = self._require(kind, (meta.get("namespace", ""), meta.get("name", "")))
        if kind.custom and not meta.get("resourceVersion"):
            text = "Invalid value: 0x0: must be specified for an update"
            raise invalid(kind, old.key[1], [("metadata.resourceVersion", "FieldValueInvalid", text)])
        return self._replace(kind, old, copy(obj), self._writer(kind, field_manager, subresource))

    def patch(  # noqa: PLR0913 - the parameters of the API's own PATCH
        self,
        kind: Kind,
        namespace: str,
        name: str,
        patch: Any,
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = OWN_MANAGER,
        force: Force = Force.NO,
    ) -> Json:
        """Patch the object (or its status). An apply creates what is not there."""
        writer, document = self._writer(kind, field_manager, subresource), copy(patch)
        if patch_type is PatchType.APPLY:
            return self._apply(kind, (namespace, name), document, writer, force)
        old = self._require(kind, (namespace, name))
        new = checks.same_object(kind, old, patched(old.obj, document, patch_type), subresource=subresource)
        return self._replace(kind, old, new, writer)

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
        checks.check_deletion(kind, old, uid=uid, resource_version=resource_version)
        todo = deletion(kind, old.obj, now=self.clock.now(), propagation=propagation, grace=grace_seconds)
        if todo.marked is not old.obj:
            old = self._commit(kind, Change.MODIFIED, todo.marked, old, old.owners)
        return self._commit(kind, Change.DELETED, old.obj, old, old.owners).obj if todo.gone else old.obj

    def _require(self, kind: Kind, key: Key) -> Stored:
        stored = self._tables[kind].get(key)
        if stored is None:
            raise not_found(kind, key[1])
        return stored

    def _create(self, kind: Kind, obj: Json, owners: Callable[[Json], Owners]) -> Json:
        suffix = self._free_suffix(kind, obj.get("metadata") or {})
        birth = Birth(uid=self._uid(), created=stamp(self.clock.now()), suffix=suffix)
        new = self._admitted(kind, prepared_for_create(kind, obj, birth), None)
        meta = new["metadata"]
        key: Key = (meta.get("namespace", ""), meta["name"])
        if kind.namespaced and self._tables[NAMESPACES].get(("", key[0])) is None:
            raise not_found(NAMESPACES, key[0])
        if self._tables[kind].get(key) is not None:
            raise already_exists(kind, key[1])
        return self._commit(kind, Change.ADDED, new, None, owners(new)).obj

    def _apply(self, kind: Kind, key: Key, document: Json, writer: Writer, force: Force) -> Json:
        old = self._tables[kind].get(key)
        config = configuration(kind, document, subresource=writer.subresource)
        if old is None:
            if writer.subresource:
                raise not_found(kind, key[1])
            meta = (document.get("metadata") or {}) | {"name": key[1], "namespace": key[0]}
            if wanted := meta.get("uid"):
                raise conflict(kind, key[1], why=NOT_THERE.format(wanted))
            owner = Owner(writer, Operation.APPLY, applied_fields(config))
            return self._create(kind, config | {"metadata": meta}, lambda _: (owner,))
        outcome = apply(old.obj, old.owners, config, writer, force=force)
        given = document.get("metadata") or {}
        preconditions = {name: given[name] for name in _PRECONDITIONS if name in given}
        new = outcome.obj | {"metadata": outcome.obj["metadata"] | preconditions}
        new = checks.same_object(kind, old, new, subresource=writer.subresource)
        return self._replace(kind, old, new, writer, owners=outcome.owners)

    def _replace(
        self, kind: Kind, old: Stored, new: Json, writer: Writer, *, owners: Owners | None = None
    ) -> Json:
        trimmed = new["metadata"].get("managedFields") in ([], [{}])
        new = prepared_for_update(kind, old.obj, new, subresource=writer.subresource)
        new = self._admitted(kind, new, old.obj)
        if owners is None:
            known = () if trimmed else old.owners
            owners = after_update(known, old.obj, new, writer)
        if new == old.obj and owners is old.owners:
            return old.obj
        if "deletionTimestamp" in new["metadata"] and is_finished(new["metadata"], graceful=kind.graceful):
            self._commit(kind, Change.DELETED, old.obj, old, old.owners)
            return sealed(new, self.rv, owners)
        return self._commit(kind, Change.MODIFIED, new, old, owners).obj

    def _writer(self, kind: Kind, manager: str, subresource: str) -> Writer:
        return Writer(
            manager=manager,
            api_version=kind.api_version,
            subresource=subresource,
            time=stamp(self.clock.now()),
            writes_status=not kind.has_status or kind.status_on_create,
        )

    def _admitted(self, kind: Kind, new: Json, old: Json | None) -> Json:
        checks.check_metadata(kind, new["metadata"], old)
        for admission in (*self._admissions[kind], *self._last_admissions[kind]):
            new = admission(new, old)
        if found := builtin.causes(kind, new):
            raise invalid(kind, new["metadata"]["name"], found)
        return new

    def _commit(
        self, kind: Kind, change: Change, obj: Json, previous: Stored | None, owners: Owners
    ) -> Stored:
        if self._rehearsing:
            return checks.rehearsed(obj, previous, owners)
        self.rv += 1
        stored = Stored(sealed(obj, self.rv, owners), self.rv, owners=owners)
        if change is Change.DELETED:
            self._tables[kind].remove(stored.key)
        else:
            self._tables[kind].put(stored)
        event = Event(change, stored, previous)
        self.logs[kind].append(event)
        self._notifier.publish(kind, event)
        return stored

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _free_suffix(self, kind: Kind, meta: Json) -> str:
        if meta.get("name") or not meta.get("generateName"):
            return ""
        while True:
            suffix = "".join(self._random.choices(_SUFFIX, k=5))
            name = generated_name(meta["generateName"], suffix)
            if self._tables[kind].get((meta.get("namespace", ""), name)) is None:
                return suffix
