"""What the answer to a write tells of an object, put into its table at once, before the watch shows it."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from api.views import Object
from k8s_bridge.kube.store import Delta, Table

T = TypeVar("T", bound=Object)

_REMEMBERED = 256
"""Objects whose end is remembered: far more than can end while one answer is on its way."""


class Answers(Generic[T]):
    """Of one table. An answer that comes after the watch has shown the object's end is too late to count."""

    def __init__(self, table: Table[T]) -> None:
        self._table = table
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        table.subscribe(self._changed)

    def take(self, obj: T) -> None:
        """Put it into the table unless it has ended, or something newer is there."""
        if obj.metadata.uid not in self._ended:
            self._table.upsert(obj)

    def _changed(self, delta: Delta[T]) -> None:
        uid = delta.new.metadata.uid if delta.new else ""
        if delta.old and delta.old.metadata.uid != uid:
            self._ended.append(delta.old.metadata.uid)
