"""Patch documents applied to JSON values: merge (RFC 7386), JSON patch (RFC 6902), strategic merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from k8s_bridge.sandbox.apiserver.errors import ApiError, Json, bad_request
from k8s_bridge.sandbox.apiserver.schema import element_key


class PatchType(StrEnum):
    """The media types of PATCH."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


def patched(target: Json, document: Any, patch_type: PatchType) -> Json:
    """`target` under a patch of any type but APPLY. Shares what is not changed."""
    match patch_type:
        case PatchType.MERGE:
            result = merge(target, document)
        case PatchType.JSON:
            result = json_patch(target, document)
        case PatchType.STRATEGIC:
            result = strategic(target, document)
        case PatchType.APPLY:
            raise AssertionError("apply has field ownership to look after")
    if not isinstance(result, dict):
        raise bad_request("the patch does not leave an object")
    return result


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386. Shares what it does not change with `target`."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(target: Any, patch: Any, *, field: str = "") -> Any:
    """A merge patch that also merges lists of keyed elements; `$patch: delete|replace` is understood."""
    if isinstance(patch, list):
        return _strategic_list(target, patch, field)
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace" or not isinstance(target, dict):
        target = {}
    result = dict(target)
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
        else:
            result[key] = strategic(result.get(key), value, field=key)
    return result


def _strategic_list(target: Any, patch: list[Any], field: str) -> list[Any]:
    keys = [element_key(field, element) for element in patch]
    if any(key is None for key in keys):
        return [strategic(None, element) for element in patch]
    result = {element_key(field, element): element for element in target or ()}
    for key, element in zip(keys, patch, strict=True):
        if isinstance(element, dict) and element.get("$patch") == "delete":
            result.pop(key, None)
        else:
            result[key] = strategic(result.get(key), element)
    return list(result.values())


def json_patch(target: Json, operations: Sequence[Json]) -> Any:
    """RFC 6902. A failed test or an absent path: 422, as the API server says it."""
    value: Any = target
    for operation in operations:
        value = _operate(value, operation)
    return value


def _operate(value: Any, operation: Json) -> Any:
    try:
        path = _pointer(operation["path"])
        match operation["op"]:
            case "add":
                return _set(value, path, operation["value"], insert=list.insert)
            case "replace":
                _read(value, path)
                return _set(value, path, operation["value"], insert=list.__setitem__)
            case "remove":
                return _remove(value, path)
            case "test":
                return _tested(value, path, operation["value"])
            case "copy":
                return _set(value, path, _read(value, _pointer(operation["from"])), insert=list.insert)
            case "move":
                source = _pointer(operation["from"])
                moved = _read(value, source)
                return _set(_remove(value, source), path, moved, insert=list.insert)
            case other:
                raise bad_request(f'unexpected kind of JSON patch operation: "{other}"')
    except (KeyError, IndexError, ValueError, TypeError) as error:
        text = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", text) from error


def _pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _read(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def _tested(value: Any, path: list[str], expected: object) -> Any:
    if _read(value, path) != expected:
        raise ValueError(f"testing value /{'/'.join(path)} failed")
    return value


def _set(value: Any, path: list[str], content: Any, *, insert: Callable[[list[Any], int, Any], None]) -> Any:
    if not path:
        return content
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        result = list(value)
        index = len(result) if head == "-" else int(head)
        if rest:
            result[index] = _set(result[index], rest, content, insert=insert)
        elif index > len(result):
            raise IndexError(f"index {index} is beyond the list")
        else:
            insert(result, index, content)
        return result
    return value | {head: _set(value[head], rest, content, insert=insert) if rest else content}


def _remove(value: Any, path: list[str]) -> Any:
    head, rest = path[0], path[1:]
    index: Any = int(head) if isinstance(value, list) else head
    result = value.copy()
    if rest:
        result[index] = _remove(result[index], rest)
    else:
        del result[index]
    return result
