"""One kind of object in memory, with indexes; every change is a delta.

Owns: rows, indexes, and telling subscribers. Never does I/O and never decides what a change means.
Used for Kubernetes views and for Slurm jobs and nodes alike (tens of thousands of rows), so an upsert
that changes nothing costs one comparison and touches no index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

T = TypeVar("T")

_NONE: Mapping[str, Callable[[object], Iterable[str]]] = MappingProxyType({})
_NO_KEYS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Delta(Generic[T]):
    """A change of one row: `old` is None for a new row, `new` is None for a removed one."""

    key: str
    old: T | None
    new: T | None


class Table(Generic[T]):
    """Rows by key, with secondary indexes. Rows must be immutable and comparable by value.

    `indexes` maps an index name to a function that gives the values a row is found under.
    `newer(candidate, current)` says whether a candidate may replace the row that is there; without it
    the last writer wins.
    """

    __slots__ = ("_buckets", "_indexes", "_key", "_newer", "_rows", "_subscribers")

    def __init__(
        self,
        key: Callable[[T], str],
        *,
        indexes: Mapping[str, Callable[[T], Iterable[str]]] = _NONE,
        newer: Callable[[T, T], bool] | None = None,
    ) -> None:
        self._key = key
        self._indexes = dict(indexes)
        self._newer = newer
        self._rows: dict[str, T] = {}
        self._buckets: dict[str, dict[str, set[str]]] = {name: {} for name in self._indexes}
        self._subscribers: list[Callable[[Delta[T]], None]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def get(self, key: str) -> T | None:
        """The row of that key, or None."""
        return self._rows.get(key)

    def keys(self) -> tuple[str, ...]:
        """All keys, in the order in which the rows came in."""
        return tuple(self._rows)

    def values(self) -> tuple[T, ...]:
        """All rows, in the order in which they came in."""
        return tuple(self._rows.values())

    def by(self, index: str, value: str) -> tuple[T, ...]:
        """The rows under `value`, in the order of their keys. An unknown index is a KeyError."""
        return tuple(self._rows[key] for key in sorted(self._buckets[index].get(value, _NO_KEYS)))

    def each(self, index: str, value: str) -> Iterator[T]:
        """The rows under `value` in no order: cheaper than `by` where the first that fits is enough."""
        return (self._rows[key] for key in self._buckets[index].get(value, _NO_KEYS))

    def subscribe(self, callback: Callable[[Delta[T]], None]) -> None:
        """Call `callback` after every later change, in the writer's stack: it must be quick and not raise."""
        self._subscribers.append(callback)

    def upsert(self, obj: T) -> Delta[T] | None:
        """Put a row. None when it equals what is there or is not newer."""
        key = self._key(obj)
        old = self._rows.get(key)
        if old is not None and self._newer is not None and not self._newer(obj, old):
            return None
        delta = self._put(key, obj)
        if delta is not None:
            self._tell(delta)
        return delta

    def remove(self, key: str) -> Delta[T] | None:
        """Remove a row. None when there was none."""
        delta = self._drop(key)
        if delta is not None:
            self._tell(delta)
        return delta

    def replace(self, objs: Iterable[T], *, keep: Callable[[T], bool] | None = None) -> list[Delta[T]]:
        """Make the rows those of a complete listing and return what changed.

        The listing is the truth: it wins over rows that look newer (after a restore from backup). A row that
        is not among `objs` is removed unless `keep(row)` holds. Subscribers are told when the whole listing
        is in, so none of them sees half of it.
        """
        listed: set[str] = set()
        deltas: list[Delta[T]] = []
        for obj in objs:
            key = self._key(obj)
            listed.add(key)
            _append(deltas, self._put(key, obj))
        for key in [key for key in self._rows if key not in listed]:
            if keep is None or not keep(self._rows[key]):
                _append(deltas, self._drop(key))
        for delta in deltas:
            self._tell(delta)
        return deltas

    def _put(self, key: str, obj: T) -> Delta[T] | None:
        old = self._rows.get(key)
        if old == obj:
            return None
        self._rows[key] = obj
        self._reindex(key, old, obj)
        return Delta(key, old, obj)

    def _drop(self, key: str) -> Delta[T] | None:
        old = self._rows.pop(key, None)
        if old is None:
            return None
        self._reindex(key, old, None)
        return Delta(key, old, None)

    def _reindex(self, key: str, old: T | None, new: T | None) -> None:
        for name, values in self._indexes.items():
            before = _NO_KEYS if old is None else frozenset(values(old))
            after = _NO_KEYS if new is None else frozenset(values(new))
            if before == after:
                continue
            buckets = self._buckets[name]
            for value in before - after:
                bucket = buckets[value]
                bucket.discard(key)
                if not bucket:
                    del buckets[value]
            for value in after - before:
                buckets.setdefault(value, set()).add(key)

    def _tell(self, delta: Delta[T]) -> None:
        for callback in self._subscribers:
            callback(delta)


def _append(deltas: list[Delta[T]], delta: Delta[T] | None) -> None:
    if delta is not None:
        deltas.append(delta)
