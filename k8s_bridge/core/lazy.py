"""A property that is computed once. Unlike functools.cached_property of Python 3.11 it takes no lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

S = TypeVar("S")
T = TypeVar("T")


class lazy(Generic[S, T]):  # noqa: N801  # used like the built-in property
    """The value replaces the descriptor in the instance's dictionary at the first look."""

    def __init__(self, compute: Callable[[S], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[S], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[S]) -> lazy[S, T]: ...

    @overload
    def __get__(self, instance: S, owner: type[S]) -> T: ...

    def __get__(self, instance: Any, owner: type[S]) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
