"""Durations as people write them: Go's compound form with days in front, such as `7d`, `1h30m`, `1.5h`.

The same text is valid in the CRD (a pattern and a CEL bound), in the file and here. Values are timedelta;
what is finer than a microsecond is dropped, and bounds are compared in whole milliseconds, as CEL can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

PATTERN = r"^(0|[0-9]+d|([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$"
MAX_LENGTH = 32

_MICROSECONDS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1_000_000),
    "m": Fraction(60_000_000),
    "h": Fraction(3_600_000_000),
    "d": Fraction(86_400_000_000),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(PATTERN, re.ASCII)
_LONGEST = timedelta(days=36_500)
_ZERO = timedelta()


def parse_duration(text: str) -> timedelta:
    """The length that `text` says. ValueError names what is wrong with it."""
    if len(text) > MAX_LENGTH or not _WHOLE.fullmatch(text):
        raise ValueError(_complaint(text))
    parts = (Fraction(number) * _MICROSECONDS[unit] for number, unit in _PART.findall(text))
    microseconds = int(sum(parts, Fraction()))
    if microseconds > _LONGEST // timedelta(microseconds=1):
        raise ValueError(f"{text!r} is longer than {format_duration(_LONGEST)}")
    return timedelta(microseconds=microseconds)


def _complaint(text: str) -> str:
    """Why `text` is not a duration."""
    if not text:
        return "a duration must not be empty"
    if len(text) > MAX_LENGTH:
        return f"a duration has at most {MAX_LENGTH} characters"
    if text.startswith(("-", "+")):
        return f"{text!r} carries a sign; a duration has none"
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return f"{text!r} has no unit"
    if "d" in text and _PART.sub("", text) == "":
        return f"{text!r} must give whole days, once and first, as in 1d12h"
    return f"{text!r} is not a duration"


def format_duration(value: timedelta) -> str:
    """The shortest usual text: `7d`, `1h30m`, `500ms`, `0s`. parse_duration gives back the same value.

    ValueError for a negative length, which has no text.
    """
    if value < _ZERO:
        raise ValueError("a duration is never negative")
    rest = value // timedelta(microseconds=1)
    if not rest:
        return "0s"
    text = ""
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, rest = divmod(rest, int(_MICROSECONDS[unit]))
        text += f"{count}{unit}" if count else ""
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Marks a timedelta field: texts in documents, and its bounds (texts as well).

    `zero` is what 0 stands for: None, itself (within no bound); else the text of the default, so that an
    explicit zero asks for the default as it did in the prototype.
    """

    minimum: str = "0s"
    maximum: str = ""
    zero: str | None = None
    empty_is_zero: bool = False

    def parse(self, value: object) -> timedelta:
        """`value` (text, or already a timedelta) within the bounds; a validation error otherwise."""
        length = self._length(value)
        if self.zero is not None and not _milliseconds(length):
            return parse_duration(self.zero)
        low, high = parse_duration(self.minimum), parse_duration(self.maximum) if self.maximum else _LONGEST
        if _milliseconds(low) <= _milliseconds(length) <= _milliseconds(high):
            return length
        given, bounds = format_duration(length), self._bounds()
        raise PydanticCustomError(
            "duration_range", "{given} is not {bounds}", {"given": given, "bounds": bounds}
        )

    def _length(self, value: object) -> timedelta:
        if isinstance(value, timedelta):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError("duration", "a duration is a text such as 30s, 1h30m or 7d")
        try:
            return _ZERO if self.empty_is_zero and not value else parse_duration(value)
        except ValueError as error:
            raise PydanticCustomError("duration", "{error}", {"error": str(error)}) from None

    def _bounds(self) -> str:
        if self.maximum and self.minimum == "0s":
            return f"at most {self.maximum}"
        if self.maximum:
            return f"between {self.minimum} and {self.maximum}"
        return f"at least {self.minimum}"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler, /) -> CoreSchema:
        """Reads and writes the text form."""
        return core_schema.no_info_plain_validator_function(
            self.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(format_duration),
        )

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """A string with the pattern, and the bounds as CEL."""
        pattern = PATTERN.replace("^(", "^(|", 1) if self.empty_is_zero else PATTERN
        schema: JsonSchemaValue = {"type": "string", "pattern": pattern, "maxLength": MAX_LENGTH}
        if rules := list(self._rules()):
            schema["x-kubernetes-validations"] = rules
        return schema

    def _rules(self) -> Iterator[dict[str, str]]:
        """The bounds in CEL, kept to functions whose cost the API server can estimate."""
        length = _CEL_LENGTH
        if self.empty_is_zero:
            length = f"(self == '' ? 0 : {length})"
        if self.minimum != "0s":
            unless = f"{length} == 0 || " if self.zero else ""
            meaning = f" (0 means {self.zero})" if self.zero else ""
            rule = f"{unless}{length} >= {_milliseconds(parse_duration(self.minimum))}"
            yield {"rule": rule, "message": f"must be at least {self.minimum}{meaning}"}
        if self.maximum:
            rule = f"{length} <= {_milliseconds(parse_duration(self.maximum))}"
            yield {"rule": rule, "message": f"must be at most {self.maximum}"}


# Milliseconds in CEL, whose duration() knows no days: what stands before "d", plus Go's form behind it.
_CEL_LENGTH = (
    "((self.contains('d') ? int(self.substring(0, self.indexOf('d'))) * 86400000 : 0)"
    " + (self.endsWith('d') ? 0 : duration(self.substring(self.indexOf('d') + 1)).getMilliseconds()))"
)


def _milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)
