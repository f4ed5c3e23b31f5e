"""Label and field selectors: text to a predicate over objects, or 400."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from k8s_bridge.sandbox.apiserver.errors import Json, bad_request
from k8s_bridge.sandbox.apiserver.kinds import Kind

Predicate = Callable[[Json], bool]
_Term = Callable[[dict[str, str]], bool]

_SPLIT = re.compile(r",(?![^(]*\))")
_KEY = r"(?:[a-z0-9A-Z.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
_SET = re.compile(rf"^(?P<key>{_KEY})\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL = re.compile(rf"^(?P<key>{_KEY})\s*(?P<op>==|!=|=)\s*(?P<value>[A-Za-z0-9_.-]*)$")
_EXISTS = re.compile(rf"^(?P<op>!?)\s*(?P<key>{_KEY})$")
_FIELD = re.compile(r"^(?P<key>[A-Za-z0-9_.]+)(?P<op>==|!=|=)(?P<value>.*)$")


@lru_cache(maxsize=512)
def labels(text: str) -> Predicate | None:
    """The predicate of a label selector; None if it selects everything. Unparsable: 400."""
    terms = tuple(_label_term(part.strip()) for part in _SPLIT.split(text)) if text.strip() else ()
    if not terms:
        return None

    def matches(obj: Json) -> bool:
        own = obj["metadata"].get("labels") or {}
        return all(term(own) for term in terms)

    return matches


def _label_term(text: str) -> _Term:
    if found := _SET.match(text):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda own: own.get(key) in values
        return lambda own: own.get(key) not in values
    if found := _EQUAL.match(text):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda own: own.get(key) != value
        return lambda own: own.get(key) == value
    if found := _EXISTS.match(text):
        key, wanted = found["key"], not found["op"]
        return lambda own: (key in own) is wanted
    raise bad_request(f"unable to parse requirement: {text!r} is not a label selector")


@lru_cache(maxsize=512)
def fields(kind: Kind, text: str) -> Predicate | None:
    """The predicate of a field selector; None if it selects everything. An unsupported field: 400."""
    terms = tuple(_field_term(kind, part.strip()) for part in text.split(",") if part.strip())
    if not terms:
        return None
    return lambda obj: all(term(obj) for term in terms)


def _field_term(kind: Kind, text: str) -> Predicate:
    found = _FIELD.match(text)
    if found is None:
        raise bad_request(f'invalid selector: "{text}"; can\'t understand "{text}"')
    name, value = found["key"], found["value"]
    if name not in ("metadata.name", "metadata.namespace", *kind.fields):
        raise bad_request(f'field label not supported: "{name}"')
    path, equal = name.split("."), found["op"] != "!="
    return lambda obj: (_field(obj, path) == value) is equal


def _field(obj: Json, path: list[str]) -> str:
    value: object = obj
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def both(first: Predicate | None, second: Predicate | None) -> Predicate | None:
    """The predicate that asks for both; None selects everything."""
    if first is None or second is None:
        return first or second
    return lambda obj: first(obj) and second(obj)
