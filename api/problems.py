"""What is wrong with a document: where, why, and what to do; all of it at once.

Translates validation errors of the models into words for the person who wrote the document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One error. `path` is spelled as in the document, `line` counts from 1 (0: not known)."""

    path: str
    why: str
    fix: str
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.path} (line {self.line})" if self.line else self.path
        return f"{where}: {self.why}; {self.fix}"


class InvalidWorkloadMixing(ValueError):
    """The document cannot be used. `problems` holds all that was found, in the document's order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def spell(path: Path) -> str:
    """`spec.partitionMappings[2].localQueue`; "document" for the whole."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "document"


def translate(error: ValidationError, *, model: type[BaseModel]) -> tuple[tuple[Path, str, str], ...]:
    """(path, why, fix) of each single error that validating `model` gave."""
    found = []
    for detail in error.errors(include_url=False):
        if _only_seems_short(detail):
            continue
        path = tuple(step for step in detail["loc"] if step != "[key]")
        owner, field = _locate(model, path)
        found.append((path, *_words(detail, owner, field)))
    return tuple(found)


def _only_seems_short(detail: ErrorDetails) -> bool:
    """Pydantic counts valid entries only: a list with one bad entry is then "too short" as well."""
    given = detail["input"]
    return (
        detail["type"] == "too_short"
        and isinstance(given, list)
        and len(given) >= detail["ctx"]["min_length"]
    )


def inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model in `Model`, `Model | None` or `tuple[Model, ...]`; None for plain types."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is dict:
        return None
    return next((model for inner in get_args(annotation) if (model := inner_model(inner))), None)


def _locate(model: type[BaseModel], path: Path) -> tuple[type[BaseModel], FieldInfo | None]:
    """The model that the last step of `path` belongs to, and its field if it is one."""
    owner, field = model, None
    for step in path:
        if isinstance(step, int):
            continue
        owner = (inner_model(field.annotation) if field else None) or owner
        field = next((known for known in owner.model_fields.values() if known.alias == step), None)
    return owner, field


def _words(detail: ErrorDetails, owner: type[BaseModel], field: FieldInfo | None) -> tuple[str, str]:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return "is not a field", _similar(str(detail["loc"][-1]), owner)
    meaning = (field.description or "").split("\n")[0] if field else ""
    if kind in _PHRASES:
        why, fix = _PHRASES[kind](context, detail["input"])
        return why, fix or f"expected: {meaning}"
    return detail["msg"], f"expected: {meaning}"


def _similar(name: str, owner: type[BaseModel]) -> str:
    known = [field.alias or "" for field in owner.model_fields.values()]
    close = get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else "remove it"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004  # a line stays readable


def _plain(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


_Phrase = Callable[[Mapping[str, Any], object], tuple[str, str]]


def _type(name: str, example: str) -> _Phrase:
    return lambda _, value: (f"must be {name}", f"write {example} in place of {_short(value)}")


def _size(template: str) -> _Phrase:
    return lambda context, _: (template.format(**context), "")


_OBJECT = _type("an object", "fields below it")
_TEXT_SIZE = "must have at {} {{{}}} characters"
_PHRASES: Mapping[str, _Phrase] = {
    "missing": lambda *_: ("is required", ""),
    "string_type": _type("a text", 'a text (in quotes, such as "8")'),
    "int_type": _type("a whole number", "a number such as 8, without quotes,"),
    "float_type": _type("a number", "a number such as 2.5, without quotes,"),
    "bool_type": _type("true or false", "true or false, without quotes,"),
    "tuple_type": _type("a list", "a list"),
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dict_type": _OBJECT,
    "duration": lambda context, _: (
        context.get("error", "must be a text"),
        "write a duration such as 30s, 1h30m or 7d",
    ),
    "duration_range": lambda context, _: (
        f"{context['given']} is out of range",
        f"choose a duration of {context['bounds']}",
    ),
    "memory": lambda context, _: (
        context.get("error", "must be a text"),
        "write a size such as 512Mi or 64Gi",
    ),
    "enum": lambda context, value: (f"{_short(value)} is not a choice", f"choose {context['expected']}"),
    "literal_error": lambda context, value: (
        f"{_short(value)} is not a choice",
        f"choose {context['expected']}",
    ),
    "greater_than_equal": lambda context, value: (
        f"{value} is too small",
        f"at least {_plain(context['ge'])}",
    ),
    "less_than_equal": lambda context, value: (f"{value} is too large", f"at most {_plain(context['le'])}"),
    "string_too_short": _size(_TEXT_SIZE.format("least", "min_length")),
    "string_too_long": _size(_TEXT_SIZE.format("most", "max_length")),
    "string_pattern_mismatch": _size("does not match {pattern}"),
    "too_short": _size("must have at least {min_length} entries"),
    "too_long": _size("must have at most {max_length} entries"),
}
