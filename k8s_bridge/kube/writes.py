"""Carries out the effects on Kubernetes that every bridge has, and takes over what their answers tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

import msgspec

from api.views import JobSet, Object
from k8s_bridge.core.effects import Apply, Delete, Event, KubeEffect, ObjectRef, Patch
from k8s_bridge.core.errors import Conflict, Missing, Terminal
from k8s_bridge.kube.answers import Answers
from k8s_bridge.kube.errors import AlreadyExists
from k8s_bridge.kube.events import EventRecorder
from k8s_bridge.kube.store import Table
from k8s_bridge.kube.transport import KubeClient


class KubeWrites:
    """Writes of one bridge. `tables`: by view what the answers to writes go into; others are not kept."""

    def __init__(
        self,
        kube: KubeClient,
        events: EventRecorder,
        tables: Mapping[type[Object], Table[Any]],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._kube = kube
        self._events = events
        self._kept = {view.KIND: (view, Answers(table)) for view, table in tables.items()}
        self._clock = clock

    async def carry_out(self, effect: KubeEffect) -> None:
        """Raises Retry, Conflict or Terminal."""
        match effect:
            case Patch(ref=ref):
                self.note(ref, await self._kube.patch(effect))
            case Apply(ref=ref):
                self.note(ref, await self._kube.apply(effect))
            case Delete():
                await self._kube.delete(effect)
            case Event():
                await self._events.emit(effect, now=datetime.fromtimestamp(self._clock(), UTC))
            case _:
                assert_never(effect)

    async def create_jobset(self, manifest: Mapping[str, Any], *, is_mine: Callable[[JobSet], bool]) -> None:
        """Create a JobSet, or take over the one of its name that is there already, from before.

        Terminal for somebody else's, which is never touched; Conflict when it has just been deleted.
        """
        meta = manifest["metadata"]
        ref = ObjectRef(
            api_version=manifest["apiVersion"],
            kind=JobSet.KIND,
            plural=JobSet.GVR[2],
            namespace=meta["namespace"],
            name=meta["name"],
        )
        try:
            self.note(ref, await self._kube.create(ref, manifest=manifest))
        except AlreadyExists as error:
            self.take(await self._there(ref, is_mine, error))

    async def _there(self, ref: ObjectRef, is_mine: Callable[[JobSet], bool], error: AlreadyExists) -> JobSet:
        try:
            there = await self._kube.get(JobSet, name=ref.name, namespace=ref.namespace)
        except Missing:
            raise Conflict(f"JobSet {ref.namespace}/{ref.name} has just been deleted") from error
        if not is_mine(there):
            text = f"JobSet {there.key} exists and is not ours; delete or rename it"
            raise Terminal(text, reason="NameTaken") from error
        return there

    def note(self, ref: ObjectRef, answer: bytes) -> None:
        """Take over what the answer to a write tells."""
        if ref.kind in self._kept:
            self.take(msgspec.json.decode(answer, type=self._kept[ref.kind][0]))

    def take(self, found: Object) -> None:
        """Take over an object that was read past the watch; of a view in `tables`."""
        self._kept[found.KIND][1].take(found)
