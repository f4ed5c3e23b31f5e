"""The garbage collector: what an owner leaves behind goes after it (background) or before it (foreground)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.history import Change
from k8s_bridge.sandbox.apiserver.kinds import JOBS, JOBSETS, PODS, WORKLOADS, Kind, Propagation
from k8s_bridge.sandbox.apiserver.records import Key
from k8s_bridge.sandbox.controllers.api import Api, Owned, is_deleted, key_of
from k8s_bridge.sandbox.controllers.engine import Engine

_FOREGROUND = "foregroundDeletion"
OWNERS = (JOBSETS, JOBS)


class Garbage:
    """Keys are ("", uid of an owner that is gone or going)."""

    name = "garbage-collector"

    def __init__(self, api: Api, engine: Engine, owned: Sequence[tuple[Kind, Owned]]) -> None:
        self._api = api
        self._engine = engine
        self._owned = owned
        self._going: dict[str, tuple[Kind, Key]] = {}
        for kind in OWNERS:
            api.storage.subscribe(kind, self._watcher(kind))
        for kind in (JOBS, PODS, WORKLOADS):
            api.storage.subscribe(kind, self._child_changed)

    def _watcher(self, kind: Kind) -> Callable[[Change, Json], None]:
        def changed(change: Change, obj: Json) -> None:
            uid = obj["metadata"]["uid"]
            if change is Change.DELETED:
                self._going.pop(uid, None)
                self._engine.add(self, ("", uid))
            elif is_deleted(obj) and _FOREGROUND in (obj["metadata"].get("finalizers") or ()):
                self._going[uid] = (kind, key_of(obj))
                self._engine.add(self, ("", uid))

        return changed

    def _child_changed(self, change: Change, obj: Json) -> None:
        if change is Change.DELETED:
            for owner in obj["metadata"].get("ownerReferences") or ():
                if owner["uid"] in self._going:
                    self._engine.add(self, ("", owner["uid"]))

    def reconcile(self, key: Key) -> float | None:
        """Delete what is left; let a foreground deletion go on when nothing is."""
        left = 0
        for kind, owned in self._owned:
            for child in owned.of(key[1]):
                left += 1
                if not is_deleted(child):
                    self._delete(kind, child)
        if key[1] in self._going and not left:
            kind, owner = self._going[key[1]]
            if obj := self._api.storage.find(kind, *owner):
                self._api.drop_finalizer(kind, obj, _FOREGROUND)
        return None

    def _delete(self, kind: Kind, child: Json) -> None:
        uid = child["metadata"]["uid"]
        self._api.storage.delete(kind, *key_of(child), uid=uid, propagation=Propagation.BACKGROUND)
