"""Lists of conditions as the API knows them. Pure: every function returns a new list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import Json


def find(obj: Mapping[str, Any], type_: str) -> Json | None:
    """The condition of that type in the object's status."""
    found = [c for c in (obj.get("status") or {}).get("conditions") or () if c["type"] == type_]
    return found[0] if found else None


def is_true(obj: Mapping[str, Any], type_: str) -> bool:
    """Whether the object says `type_` of itself."""
    condition = find(obj, type_)
    return condition is not None and condition["status"] == "True"


def is_false(obj: Mapping[str, Any], type_: str) -> bool:
    """Whether the object expressly denies `type_`; False if it says nothing."""
    condition = find(obj, type_)
    return condition is not None and condition["status"] == "False"


def with_set(conditions: Iterable[Json], new: Json, *, now: str, order: Sequence[str] = ()) -> list[Json]:
    """`conditions` with `new` in place of the one of its type.

    lastTransitionTime is `now` where the status changes, else what it was. Types in `order` come in that
    order, before all others; a new type not in it comes last.
    """
    kept = list(conditions)
    old = next((c for c in kept if c["type"] == new["type"]), None)
    since = old["lastTransitionTime"] if old and old["status"] == new["status"] else now
    stamped = {"lastTransitionTime": since, **new}
    merged = [stamped if c is old else c for c in kept] if old else [*kept, stamped]
    rank = {type_: n for n, type_ in enumerate(order)}
    return sorted(merged, key=lambda c: rank.get(c["type"], len(rank)))


def without(conditions: Iterable[Json], type_: str) -> list[Json]:
    """`conditions` less the one of that type."""
    return [c for c in conditions if c["type"] != type_]
