"""Values that JSON has not: optionals, and the rules by which CEL compares. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from k8s_bridge.core.cel.errors import CelError


@dataclass(frozen=True, slots=True)
class Optional:
    """optional.of(value), or optional.none()."""

    present: bool
    value: Any = None


NONE = Optional(present=False)


def some(value: Any) -> Optional:
    """optional.of(value)."""
    return Optional(present=True, value=value)


def kind(value: Any) -> str:
    """The name of a value's type."""
    names = {bool: "bool", int: "int", float: "double", str: "string", list: "list", dict: "map"}
    return names.get(type(value), "null_type" if value is None else type(value).__name__.lower())


def equal(left: Any, right: Any) -> bool:
    """Numbers of different types are compared as numbers; other types are never equal."""
    numbers = (int, float)
    if type(left) in numbers and type(right) in numbers:
        return bool(left == right)
    if type(left) is not type(right):
        return False
    if isinstance(left, Optional):
        return left.present is right.present and equal(left.value, right.value)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def less(left: Any, right: Any) -> bool:
    """The order of numbers, and of texts."""
    numbers = (int, float)
    if (type(left) in numbers and type(right) in numbers) or type(left) is type(right) is str:
        return bool(left < right)
    raise CelError(f"no such overload: {kind(left)} < {kind(right)}")


def truth(value: Any) -> bool:
    """A condition's value. Raises CelError for what is none."""
    if not isinstance(value, bool):
        raise CelError(f"no such overload: {kind(value)} as a condition")
    return value
