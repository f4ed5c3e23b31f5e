"""Server-side apply: merge what one manager declares, respect what others own, drop what it gave up. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json
from k8s_bridge.sandbox.apiserver.fieldsets import (
    Fields,
    Path,
    applied_fields,
    children,
    compare,
    describe,
    ownable,
)
from k8s_bridge.sandbox.apiserver.kinds import Kind
from k8s_bridge.sandbox.apiserver.ownership import Operation, Owner, Owners, Writer, after_apply


class Force(Enum):
    """Whether an apply takes fields that other managers own."""

    NO = "false"
    YES = "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The outcome: the object to store and who owns its fields now."""

    obj: Json
    owners: Owners


def configuration(kind: Kind, patch: Json, *, subresource: str) -> Json:
    """The part of an applied document that the addressed resource or subresource takes."""
    config = ownable(patch)
    if subresource == "status":
        return {"status": config["status"]} if "status" in config else {}
    if kind.has_status:
        config.pop("status", None)
    return config


def apply(live: Json, owners: Owners, config: Json, writer: Writer, *, force: Force) -> Applied:
    """Apply `config` to `live`. 409 naming every conflict, unless forced."""
    fields = applied_fields(config)
    merged = _merge(live, config, "")
    mine = next((owner for owner in owners if owner.is_of(writer, Operation.APPLY)), None)
    others = [owner for owner in owners if owner is not mine]
    changed = frozenset(compare(ownable(live), ownable(merged)).changed)
    if force is Force.NO:
        _check_conflicts(others, changed)
    given_up = (mine.fields if mine else frozenset()) - fields
    merged = _prune(merged, given_up - _held(others)) if given_up else merged
    return Applied(obj=merged, owners=after_apply(owners, fields, writer, taken=changed))


def _held(owners: Sequence[Owner]) -> Fields:
    """Every path the owners hold, and the ways to them: an item stays while a part of it is owned."""
    paths = (path for owner in owners for path in owner.fields)
    return frozenset(path[:length] for path in paths for length in range(1, len(path) + 1))


def _merge(live: Any, config: Any, name: str) -> Any:
    have, want = children(live, name), children(config, name)
    if config == [] and have is not None:
        return live
    if want is None or have is None or isinstance(live, dict) is not isinstance(config, dict):
        return config
    merged = {element: part for element, (_, part) in have.items()}
    for element, (key, part) in want.items():
        merged[element] = _merge(merged[element], part, key) if element in merged else part
    return _assembled(live, merged)


def _assembled(model: Any, parts: dict[str, Any]) -> Any:
    if isinstance(model, list):
        return list(parts.values())
    return {element[2:]: part for element, part in parts.items()}


def _prune(obj: Json, paths: Fields) -> Json:
    result = obj
    for path in sorted(paths, key=len):
        result = _without(result, path, "") or {}
    return result


def _without(value: Any, path: Path, name: str) -> Any:
    """The value less what `path` leads to; None if nothing is left of it."""
    parts = children(value, name)
    if parts is None or path[0] not in parts:
        return value
    kept = {element: part for element, (_, part) in parts.items()}
    key, part = parts[path[0]]
    remains = _without(part, path[1:], key) if path[1:] else None
    if remains is None:
        del kept[path[0]]
    else:
        kept[path[0]] = remains
    return _assembled(value, kept) if kept else None


def _check_conflicts(others: Sequence[Owner], changed: Fields) -> None:
    conflicts = [(owner, path) for owner in others for path in sorted(owner.fields & changed)]
    if not conflicts:
        return
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_manager_text(owner)}",
            "field": describe(path),
        }
        for owner, path in conflicts
    ]
    raise ApiError(409, "Conflict", _conflict_text(conflicts), details={"causes": causes})


def _conflict_text(conflicts: Sequence[tuple[Owner, Path]]) -> str:
    if len(conflicts) == 1:
        owner, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_manager_text(owner)}: {describe(path)}"
    by_manager: dict[str, list[str]] = {}
    for owner, path in conflicts:
        by_manager.setdefault(_manager_text(owner), []).append(f"- {describe(path)}")
    texts = ["\n".join([f"conflicts with {manager}:", *paths]) for manager, paths in by_manager.items()]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(texts)


def _manager_text(owner: Owner) -> str:
    writer = owner.writer
    text = f'"{writer.manager}"'
    if writer.subresource:
        text += f' with subresource "{writer.subresource}"'
    if owner.operation is Operation.UPDATE:
        text += f" using {writer.api_version}"
    return text
