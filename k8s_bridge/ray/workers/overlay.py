"""One pod template laid over another: fields win, lists of named things are joined by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def overlaid(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with everything that `over` says."""
    joined = dict(base)
    for key, value in over.items():
        joined[key] = _joined(base.get(key), value)
    return joined


def _joined(base: Any, over: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return overlaid(base, over)
    if _named(base) and _named(over):
        return _by_name(base, over)
    return over


def _by_name(base: Sequence[Mapping[str, Any]], over: Sequence[Mapping[str, Any]]) -> list[Any]:
    theirs = {item["name"]: item for item in over}
    joined = [overlaid(item, theirs.pop(item["name"], {})) for item in base]
    return [*joined, *theirs.values()]


def _named(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return all(isinstance(item, Mapping) and "name" in item for item in value)
