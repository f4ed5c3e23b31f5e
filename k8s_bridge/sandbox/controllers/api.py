"""What every controller does with the API: read, write a status if it changed, tell a person about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json
from k8s_bridge.sandbox.apiserver.kinds import BY_KIND, EVENTS, Kind
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.apiserver.storage import Storage
from k8s_bridge.sandbox.clock import stamp

_MOST_EVENTS = 5000
_NOT_FOUND = 404


def key_of(obj: Mapping[str, Any]) -> Key:
    """(namespace, name) of an object."""
    return (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def is_deleted(obj: Mapping[str, Any]) -> bool:
    """Whether somebody asked for the object's deletion."""
    return "deletionTimestamp" in obj["metadata"]


def controller_uid(obj: Mapping[str, Any]) -> str:
    """The uid of the owner that controls the object, or ""."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((o["uid"] for o in owners if o.get("controller")), "")


def owner_reference(owner: Mapping[str, Any]) -> Json:
    """A controlling reference to `owner`."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


class Api:
    """The storage as the controllers use it."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._events: dict[tuple[str, ...], Key] = {}
        self._order: deque[tuple[str, ...]] = deque()

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.storage.clock.now().timestamp()

    @property
    def stamp(self) -> str:
        """The present as a metav1.Time."""
        return stamp(self.storage.clock.now())

    def set_status(self, kind: Kind, obj: Json, status: Json) -> Json:
        """Write the status if it differs. `obj` must be the newest version."""
        if status == (obj.get("status") or {}):
            return obj
        return self.storage.update(kind, obj | {"status": status}, subresource="status")

    def replace(self, kind: Kind, obj: Json) -> Json:
        """Write everything but the status; `obj` is derived from the newest version."""
        return self.storage.update(kind, obj)

    def patch(self, kind: Kind, obj: Mapping[str, Any], patch: Json, *, subresource: str = "") -> Json:
        """Merge-patch the object that `obj` is a version of."""
        return self.storage.patch(kind, *key_of(obj), patch, subresource=subresource)

    def delete(self, kind: Kind, obj: Mapping[str, Any], *, grace_seconds: int | None = None) -> None:
        """Delete exactly this object; gone already is fine."""
        try:
            self.storage.delete(kind, *key_of(obj), uid=obj["metadata"]["uid"], grace_seconds=grace_seconds)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise

    def drop_finalizer(self, kind: Kind, obj: Json, finalizer: str) -> Json:
        """Take a finalizer away, if it is there."""
        have = obj["metadata"].get("finalizers") or []
        if finalizer not in have:
            return obj
        left = [f for f in have if f != finalizer] or None
        return self.patch(kind, obj, {"metadata": {"finalizers": left}})

    def event(
        self, obj: Mapping[str, Any], reason: str, message: str, *, source: str, warning: bool = False
    ) -> None:
        """Tell about `obj`; the same again is counted, not written anew."""
        uid = obj["metadata"].get("uid", "")
        known = (uid, reason, message, source)
        if (key := self._events.get(known)) and (old := self.storage.find(EVENTS, *key)):
            again = {"count": old["count"] + 1, "lastTimestamp": self.stamp}
            self.storage.patch(EVENTS, *key, again)
            return
        self._create_event(obj, known, type_="Warning" if warning else "Normal")

    def _create_event(self, obj: Mapping[str, Any], known: tuple[str, ...], *, type_: str) -> None:
        uid, reason, message, source = known
        meta = obj["metadata"]
        namespace = meta.get("namespace") or "default"
        involved = {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            **({"namespace": meta["namespace"]} if meta.get("namespace") else {}),
            "name": meta["name"],
            "uid": uid,
            "resourceVersion": meta.get("resourceVersion", ""),
        }
        created = self.storage.create(
            EVENTS,
            {
                "metadata": {"namespace": namespace, "name": f"{meta['name']}.{self.storage.rv:016x}"},
                "involvedObject": involved,
                "reason": reason,
                "message": message,
                "type": type_,
                "source": {"component": source},
                "reportingComponent": source,
                "reportingInstance": "",
                "count": 1,
                "firstTimestamp": self.stamp,
                "lastTimestamp": self.stamp,
                "eventTime": None,
            },
        )
        self._events[known] = key_of(created)
        self._order.append(known)
        self._forget_old()

    def _forget_old(self) -> None:
        while len(self._order) > _MOST_EVENTS:
            key = self._events.pop(self._order.popleft())
            if self.storage.find(EVENTS, *key):
                self.storage.delete(EVENTS, *key)


class Owned:
    """An index of the objects of one kind by the uid of their controlling owner, kept by subscription."""

    def __init__(self, storage: Storage, kind: Kind) -> None:
        self._by_owner: dict[str, dict[Key, Json]] = {}
        for obj in storage.list(kind):
            self._put(obj)
        storage.subscribe(
            kind, lambda change, obj: self._put(obj) if change != "DELETED" else self._drop(obj)
        )

    def of(self, uid: str) -> list[Json]:
        """The objects that this owner controls, by name."""
        return [obj for _, obj in sorted(self._by_owner.get(uid, {}).items())]

    def _put(self, obj: Json) -> None:
        if uid := controller_uid(obj):
            self._by_owner.setdefault(uid, {})[key_of(obj)] = obj

    def _drop(self, obj: Json) -> None:
        uid = controller_uid(obj)
        if mine := self._by_owner.get(uid):
            mine.pop(key_of(obj), None)
            if not mine:
                del self._by_owner[uid]


def kind_of(obj: Mapping[str, Any]) -> Kind:
    """The served kind of an object or of an owner reference."""
    return BY_KIND[(obj["apiVersion"], obj["kind"])]
