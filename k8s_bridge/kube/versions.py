"""Tables of Kubernetes objects, and which of two states of an object is the newer one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from api.views import Object
from k8s_bridge.kube.store import Table

T = TypeVar("T", bound=Object)

_NONE: Mapping[str, Callable[[Object], Iterable[str]]] = MappingProxyType({})


def table_of(view: type[T], *, indexes: Mapping[str, Callable[[T], Iterable[str]]] = _NONE) -> Table[T]:
    """An empty table for objects of `view`, by their keys; newer resource versions win."""
    del view  # it gives the rows their type
    return Table(lambda obj: obj.key, indexes=indexes, newer=newer)


def newer(candidate: Object, current: Object) -> bool:
    """Whether `candidate` may replace `current` of the same key.

    Resource versions are compared as numbers. Where one is not a number no order is known, and a
    different version is taken for a newer one: the watch delivers in order anyway.
    """
    return newer_version(candidate.metadata.resource_version, current.metadata.resource_version)


def newer_version(candidate: str, current: str) -> bool:
    """`candidate` > `current` as numbers; merely different where either is not a number."""
    if candidate.isdecimal() and current.isdecimal():
        return int(candidate) > int(current)
    return candidate != current
