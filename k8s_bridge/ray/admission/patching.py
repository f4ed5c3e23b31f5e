"""From what a mutation says to the operations of a JSON patch. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def merged(obj: Json, configuration: Json) -> dict[str, Any]:
    """`obj` with an apply configuration laid over it. Items of lists are added unless they are there."""
    result = dict(obj)
    for key, value in configuration.items():
        have = result.get(key)
        if isinstance(value, Mapping):
            result[key] = merged(have if isinstance(have, Mapping) else {}, value)
        elif isinstance(value, list):
            here = have or []
            result[key] = [*here, *(item for item in value if item not in here)]
        else:
            result[key] = value
    return result


def operations(old: Json, new: Json, *, at: str = "") -> Iterator[dict[str, Any]]:
    """What makes `new` of `old`, where nothing was taken away."""
    for key, value in new.items():
        have, path = old.get(key), f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
        if have == value and key in old:
            continue
        if isinstance(have, Mapping) and isinstance(value, Mapping):
            yield from operations(have, value, at=path)
        else:
            yield {"op": "add", "path": path, "value": value}
