"""Stored versions and the table that holds the newest of each object, in the order lists are answered."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.ownership import Owners

Key = tuple[str, str]  # (namespace, name); namespace is "" for cluster scope

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def copy(obj: Any) -> Any:
    """A deep copy of a JSON value, through its bytes: several times faster than copy.deepcopy."""
    return _decode(_encode(obj))


class Stored:
    """One version of one object. Never changed; its bytes are made once, when first asked for."""

    __slots__ = ("_body", "key", "obj", "owners", "rv")

    def __init__(self, obj: Json, rv: int, *, owners: Owners = ()) -> None:
        meta = obj["metadata"]
        self.obj = obj
        self.rv = rv
        self.owners = owners
        self.key: Key = (meta.get("namespace", ""), meta["name"])
        self._body: bytes | None = None

    @property
    def body(self) -> bytes:
        """The JSON of the object."""
        if self._body is None:
            self._body = _encode(self.obj)
        return self._body


class Table:
    """The newest version of every object of one kind."""

    def __init__(self) -> None:
        self._rows: dict[Key, Stored] = {}
        self._keys: list[Key] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Stored]:
        return iter(list(self._rows.values()))

    def get(self, key: Key) -> Stored | None:
        """The version stored under `key`."""
        return self._rows.get(key)

    def put(self, stored: Stored) -> None:
        """Store a new object or a newer version."""
        if stored.key not in self._rows:
            insort(self._keys, stored.key)
        self._rows[stored.key] = stored

    def remove(self, key: Key) -> None:
        """Forget an object that is there."""
        del self._rows[key]
        del self._keys[bisect_left(self._keys, key)]

    def rows(self, namespace: str = "") -> Sequence[Stored]:
        """All rows, or those of one namespace, ordered by namespace and name."""
        if not namespace:
            return [self._rows[key] for key in self._keys]
        first = bisect_left(self._keys, (namespace, ""))
        last = bisect_left(self._keys, (namespace + "\0", ""))
        return [self._rows[key] for key in self._keys[first:last]]
