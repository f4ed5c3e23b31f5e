"""Rules over several fields, on raw data: they are found together with the errors of single fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from api.problems import Path, inner_model
from api.v1alpha1.base import ListMap, Model

Finding = tuple[Path, str, str]


def check(raw: object, *, model: type[BaseModel], at: Path = ()) -> Iterator[Finding]:
    """(path, why, fix) of each broken rule and repeated key in `raw` and below; `at` is where `raw` stands.

    What has the wrong type is passed over: the models report it.
    """
    if not isinstance(raw, Mapping):
        return
    if issubclass(model, Model):
        for rule in model.RULES:
            if not rule.holds(raw):
                yield (*at, rule.field) if rule.field else at, rule.why, rule.fix
    for field in model.model_fields.values():
        name = field.alias or ""
        yield from _check_field(raw.get(name), field, (*at, name))


def _check_field(value: object, field: FieldInfo, at: Path) -> Iterator[Finding]:
    inner = inner_model(field.annotation)
    if inner is None:
        return
    if not isinstance(value, list):
        yield from check(value, model=inner, at=at)
        return
    for mark in field.metadata:
        if isinstance(mark, ListMap):
            yield from _repeated(value, mark.key, at)
    for index, entry in enumerate(value):
        yield from check(entry, model=inner, at=(*at, index))


def _repeated(entries: Sequence[Any], key: str, at: Path) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        name = entry.get(key) if isinstance(entry, Mapping) else None
        if not isinstance(name, str):
            continue
        before = first.setdefault(name, index)
        if before != index:
            why = f"{name!r} is already in entry [{before}]"
            yield (*at, index, key), why, "keep one of the two: the second would never be used"
