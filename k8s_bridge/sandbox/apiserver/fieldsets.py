"""Sets of field paths: what an object holds, what differs between two, and fieldsV1 there and back. Pure.

A path is a tuple of fieldsV1 path elements: "f:name" for a field, "k:{…}" for a keyed list item, "v:…" for a
member of a set. Values of atomic lists and maps are leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from k8s_bridge.sandbox.apiserver.errors import Json
from k8s_bridge.sandbox.apiserver.schema import element_key, is_atomic_map

Path = tuple[str, ...]
Fields = frozenset[Path]

_UNOWNED = ("apiVersion", "kind")
_STRUCTS: tuple[Path, ...] = ((), ("f:metadata",))  # always there, so nobody's
_OWNED_META = ("labels", "annotations", "finalizers", "ownerReferences")


def ownable(obj: Json) -> Json:
    """The part of an object that writers can own: no type, no server-set metadata."""
    rest = {key: value for key, value in obj.items() if key not in _UNOWNED}
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key in _OWNED_META}
    rest.pop("metadata", None)
    return rest | {"metadata": meta} if meta else rest


def children(value: Any, name: str) -> dict[str, tuple[str, Any]] | None:
    """The parts of a granular value as {path element: (field name, part)}; None of a leaf."""
    if isinstance(value, dict):
        return None if is_atomic_map(name) else {f"f:{key}": (key, part) for key, part in value.items()}
    if not isinstance(value, list) or not value:
        return None
    keys = [element_key(name, item) for item in value]
    if None in keys or len(set(keys)) != len(keys):
        return None
    return {str(key): ("", item) for key, item in zip(keys, value, strict=True)}


def _walk(value: Any, path: Path, name: str, *, holders: Callable[[Path], bool]) -> Iterator[Path]:
    parts = children(value, name)
    if not parts:
        yield path
        return
    if path not in _STRUCTS and (holders(path) or path[-1][0] == "k"):
        yield path
    for element, (key, part) in parts.items():
        yield from _walk(part, (*path, element), key, holders=holders)


def applied_fields(config: Json) -> Fields:
    """The fields an applied configuration names: leaves and keyed list items."""
    return frozenset(_walk(config, (), "", holders=lambda _: False)) - {()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The paths that are new or have another value, and those that are gone; holders of fields included."""

    changed: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)


def compare(old: Json, new: Json) -> Comparison:
    """What a writer who made `new` out of `old` has touched."""
    found = Comparison()
    _compare(old, new, (), "", found)
    return found


def _compare(old: Any, new: Any, path: Path, name: str, found: Comparison) -> None:
    if old is new or old == new:
        return
    before, after = children(old, name), children(new, name)
    if before is None or after is None or isinstance(old, dict) is not isinstance(new, dict):
        found.removed.update(_everything(old, path, name))
        found.changed.update(_everything(new, path, name))
        found.removed.difference_update(found.changed)
        return
    for element, (key, part) in before.items():
        if element not in after:
            found.removed.update(_everything(part, (*path, element), key))
    for element, (key, part) in after.items():
        if element in before:
            _compare(before[element][1], part, (*path, element), key, found)
        else:
            found.changed.update(_everything(part, (*path, element), key))


def _everything(value: Any, path: Path, name: str) -> Iterator[Path]:
    return _walk(value, path, name, holders=lambda _: True)


def to_fields_v1(paths: Iterable[Path]) -> Json:
    """The fieldsV1 tree of a set of paths; "." marks a node that is itself a member and has children."""
    tree: Json = {}
    for path in paths:
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _without_leaf_dots(tree)


def _without_leaf_dots(node: Json) -> Json:
    if len(node) == 1 and "." in node:
        return {}
    return {key: _without_leaf_dots(child) if key != "." else child for key, child in sorted(node.items())}


def describe(path: Path) -> str:
    """A path as conflicts name it: `.spec.containers[name="c"].image`."""
    return "".join(_element_text(element) for element in path)


def _element_text(element: str) -> str:
    mark, text = element[0], element[2:]
    if mark == "f":
        return f".{text}"
    if mark == "v":
        return f"[={text}]"
    pairs = msgspec.json.decode(text).items()
    return f"[{','.join(f'{key}={msgspec.json.encode(value).decode()}' for key, value in pairs)}]"
