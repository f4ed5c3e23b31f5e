"""Memory sizes as Kubernetes quantities (`64Gi`, `1500M`); in Python whole MiB, rounded down."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

PATTERN = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$"
MAX_LENGTH = 32

_UNITS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
}
_MEBIBYTE = 2**20
_WHOLE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTP]i|[kMGTP])?", re.ASCII)


def parse_memory(text: str) -> int:
    """Whole MiB in `text`, rounded down. ValueError when it is no quantity, or less than 1 MiB but not 0."""
    match = _WHOLE.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise ValueError(f"{text!r} is not a memory size such as 512Mi or 64Gi")
    amount = Fraction(match.group(1)) * _UNITS[match.group(2) or ""]
    if 0 < amount < _MEBIBYTE:
        raise ValueError(f"{text!r} is less than 1Mi (a number without unit is bytes)")
    return int(amount / _MEBIBYTE)


def format_memory(mebibytes: int) -> str:
    """The quantity of `mebibytes`: `64Gi` where that is exact, else `1536Mi`."""
    if mebibytes and mebibytes % 1024 == 0:
        return f"{mebibytes // 1024}Gi"
    return f"{mebibytes}Mi"


class _Memory:
    """Marks an int field that documents give as a quantity."""

    @staticmethod
    def parse(value: object) -> int:
        """`value` as MiB; an int (from Python) is MiB already."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if not isinstance(value, str):
            raise PydanticCustomError("memory", "a memory size is a text such as 512Mi or 64Gi")
        try:
            return parse_memory(value)
        except ValueError as error:
            raise PydanticCustomError("memory", "{error}", {"error": str(error)}) from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler, /) -> CoreSchema:
        """Texts only in documents; MiB as well in Python."""
        serialization = core_schema.plain_serializer_function_ser_schema(format_memory)
        return core_schema.json_or_python_schema(
            json_schema=core_schema.chain_schema(
                [core_schema.str_schema(), core_schema.no_info_plain_validator_function(cls.parse)],
            ),
            python_schema=core_schema.no_info_plain_validator_function(cls.parse),
            serialization=serialization,
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """A string with the pattern, and the least size as CEL."""
        rule = "!quantity(self).isLessThan(quantity('1Mi')) || quantity(self).compareTo(quantity('0')) == 0"
        message = "must be at least 1Mi (a number without unit is bytes)"
        return {
            "type": "string",
            "pattern": PATTERN,
            "maxLength": MAX_LENGTH,
            "x-kubernetes-validations": [{"rule": rule, "message": message}],
        }


Memory = Annotated[int, _Memory]
"""MiB in Python, a Kubernetes quantity in documents."""
