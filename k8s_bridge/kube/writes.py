"""Carries out the effects on Kubernetes that every bridge has, and takes over what their answers tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

import msgspec

from api.views import Object
from k8s_bridge.core.effects import Apply, Delete, Event, KubeEffect, ObjectRef, Patch
from k8s_bridge.kube.answers import Answers
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

    def note(self, ref: ObjectRef, answer: bytes) -> None:
        """Take over what the answer to a write tells."""
        if ref.kind in self._kept:
            self.take(msgspec.json.decode(answer, type=self._kept[ref.kind][0]))

    def take(self, found: Object) -> None:
        """Take over an object that was read past the watch; of a view in `tables`."""
        self._kept[found.KIND][1].take(found)
