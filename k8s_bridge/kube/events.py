"""Writes Kubernetes Events: repeats are counted on one object, a noisy object is throttled.

An Event is an aid to people, so nothing here ever fails its caller: what cannot be written is dropped and
reported to the observer.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from api.views import Object
from k8s_bridge.core.effects import Event, ObjectRef, Patch
from k8s_bridge.core.errors import BridgeError, Missing
from k8s_bridge.kube.errors import AlreadyExists
from k8s_bridge.kube.transport import KubeClient

_REMEMBERED = 1024
_BURST = 25.0
_SECONDS_EACH = 60.0
_MESSAGE_MAX = 1024
_NAME_MAX = 230

V = TypeVar("V")


class EventView(Object, frozen=True):
    """v1 Event: of what is there, only its count matters."""

    GVR = ("", "v1", "events")
    KIND = "Event"

    count: int = 0


class Recent(Generic[V]):
    """A mapping of at most `size` entries that forgets the least recently used one."""

    def __init__(self, make: Callable[[], V], *, size: int = _REMEMBERED) -> None:
        self._make = make
        self._size = size
        self._entries: OrderedDict[str, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, key: str) -> V:
        if key not in self._entries:
            self._entries[key] = self._make()
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        self._entries.move_to_end(key)
        return self._entries[key]


@dataclass(slots=True)
class _Bucket:
    """How many more Events an object may have now; it refills with one a minute."""

    tokens: float = _BURST
    filled: float = float("inf")

    def take(self, now: float) -> bool:
        """Take one, if there is one."""
        self.tokens = min(_BURST, self.tokens + max(now - self.filled, 0.0) / _SECONDS_EACH)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass(slots=True)
class _Series:
    """Repeats of one Event. `count` is what was written, `waiting` what is still to be added to it."""

    count: int = 0
    waiting: int = 0


class EventRecorder:
    """Writes Events as `component`, by default in the object's namespace."""

    def __init__(self, client: KubeClient, *, component: str, instance: str) -> None:
        self._client = client
        self._component = component
        self._instance = instance
        self._buckets: Recent[_Bucket] = Recent(_Bucket)
        self._series: Recent[_Series] = Recent(_Series)

    async def emit(self, event: Event, *, now: datetime) -> None:
        """Write `event`, or add to the count of the same one. Never raises; what is dropped is reported."""
        series = self._series[_name(event)]
        series.waiting += 1
        if not self._buckets[_object(event.ref)].take(now.timestamp()):
            self._client.observer.on_event_dropped(event=event)
            return
        added, series.waiting = series.waiting, 0
        try:
            await self._write(event, series=series, added=added, now=now)
        except BridgeError:
            series.waiting += added
            self._client.observer.on_event_dropped(event=event)

    async def _write(self, event: Event, *, series: _Series, added: int, now: datetime) -> None:
        try:
            if series.count:
                await self._count(event, count=series.count + added, now=now)
            else:
                await self._create(event, count=added, now=now)
        except Missing:  # Events live for an hour or so
            series.count = 0
            await self._create(event, count=added, now=now)
        except AlreadyExists:  # written before a restart or by the leader before us
            ref = _ref(event)
            there = await self._client.get(EventView, name=ref.name, namespace=ref.namespace)
            series.count = max(there.count, 1)
            await self._count(event, count=series.count + added, now=now)
        series.count += added

    async def _count(self, event: Event, *, count: int, now: datetime) -> None:
        patch = {"count": count, "lastTimestamp": _time(now)}
        await self._client.patch(Patch(ref=_ref(event), patch=patch))

    async def _create(self, event: Event, *, count: int, now: datetime) -> None:
        await self._client.create(_ref(event), manifest=self._manifest(event, count=count, now=now))

    def _manifest(self, event: Event, *, count: int, now: datetime) -> dict[str, Any]:
        ref = event.ref
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": _ref(event).namespace, "name": _name(event)},
            "involvedObject": {
                "apiVersion": ref.api_version,
                "kind": ref.kind,
                "namespace": ref.namespace,
                "name": ref.name,
                "uid": ref.uid,
            },
            "type": event.type.value,
            "reason": event.reason,
            "message": _cut(event.message),
            "firstTimestamp": _time(now),
            "lastTimestamp": _time(now),
            "count": count,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _object(ref: ObjectRef) -> str:
    return f"{ref.api_version}/{ref.kind}/{ref.namespace}/{ref.name}/{ref.uid}"


def _name(event: Event) -> str:
    """The same Event always has the same name, so that a restart goes on counting."""
    text = "\n".join((_object(event.ref), event.type, event.reason, event.message))
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{event.ref.name[:_NAME_MAX].rstrip('-.')}.{digest}"


def _ref(event: Event) -> ObjectRef:
    namespace = event.ref.namespace or "default"  # where Events about cluster-scoped objects belong
    return ObjectRef(api_version="v1", kind="Event", plural="events", namespace=namespace, name=_name(event))


def _cut(message: str) -> str:
    return message.encode()[:_MESSAGE_MAX].decode(errors="ignore")


def _time(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
