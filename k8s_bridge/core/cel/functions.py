"""What expressions may call: operators, conversions, and what policies use of Kubernetes' libraries. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from k8s_bridge.core.cel.errors import CelError
from k8s_bridge.core.cel.quantities import is_quantity, quantity
from k8s_bridge.core.cel.values import NONE, Optional, equal, kind, less, some, truth

Function = Callable[..., Any]
_INTEGER = re.compile(r"[+-]?\d+")


def _plus(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or isinstance(left, dict | bool):
        raise CelError(f"no such overload: {kind(left)} + {kind(right)}")
    return left + right


def _number(operation: Function) -> Function:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is not type(right) or type(left) not in (int, float):
            raise CelError(f"no such overload: {kind(left)}, {kind(right)}")
        return operation(left, right)

    return apply


def _divide(left: Any, right: Any) -> Any:
    if right == 0:
        raise CelError("division by zero")
    whole = abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)
    return whole if isinstance(left, int) else left / right


def _remainder(left: int, right: int) -> int:
    return int(left - right * _divide(left, right))


def _contains(item: Any, whole: Any) -> bool:
    if isinstance(whole, list | dict):
        return any(equal(item, each) for each in whole)
    raise CelError(f"no such overload: in {kind(whole)}")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    raise CelError(f"no such overload: string({kind(value)})")


def _whole(value: Any) -> int:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        raise CelError(f"type conversion error from '{value}' to 'int'")
    return int(value)


def _decimal(value: Any) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise CelError(f"type conversion error from '{value}' to 'double'") from error


def _size(value: Any) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    raise CelError(f"no such overload: size({kind(value)})")


def _matches(value: str, pattern: str) -> bool:
    """As RE2: `$` is the very end, and word classes are ASCII's."""
    ending = f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern
    return re.search(ending, value, re.ASCII) is not None


def _non_zero(value: Any) -> Optional:
    return some(value) if value else NONE


FUNCTIONS: Mapping[str, Function] = {
    "+": _plus,
    "-": _number(lambda left, right: left - right),
    "*": _number(lambda left, right: left * right),
    "/": _number(_divide),
    "%": _number(_remainder),
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": less,
    ">": lambda left, right: less(right, left),
    "<=": lambda left, right: not less(right, left),
    ">=": lambda left, right: not less(left, right),
    "!": lambda value: not truth(value),
    "negative": lambda value: -value,
    "in": _contains,
    "size": _size,
    "string": _text,
    "int": _whole,
    "double": _decimal,
    "bool": lambda value: value if isinstance(value, bool) else {"true": True, "false": False}[value],
    "dyn": lambda value: value,
    "matches": _matches,
    "quantity": quantity,
    "isQuantity": is_quantity,
    "optional.of": some,
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _non_zero,
    "jsonpatch.escapeKey": lambda key: key.replace("~", "~0").replace("/", "~1"),
}


def _text_method(name: str) -> Function:
    def apply(value: str, *arguments: Any) -> Any:
        if not isinstance(value, str):
            raise CelError(f"no such overload: {kind(value)}.{name}")
        return getattr(str, name)(value, *arguments)

    return apply


def _value(of: Optional) -> Any:
    if not of.present:
        raise CelError("optional.none() dereference")
    return of.value


def _alternative(of: Optional, other: Any) -> Any:
    return of.value if of.present else other


def _join(items: list[str], between: str = "") -> str:
    return between.join(items)


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


METHODS: Mapping[str, Function] = {
    "size": _size,
    "startsWith": _text_method("startswith"),
    "endsWith": _text_method("endswith"),
    "contains": lambda value, part: part in value if isinstance(value, str) else _contains(part, value),
    "matches": FUNCTIONS["matches"],
    "lowerAscii": _text_method("lower"),
    "upperAscii": _text_method("upper"),
    "trim": _text_method("strip"),
    "split": _text_method("split"),
    "replace": _text_method("replace"),
    "indexOf": _text_method("find"),
    "substring": lambda value, begin, end=None: value[begin:end],
    "join": _join,
    "sum": sum,
    "min": min,
    "max": max,
    "distinct": _distinct,
    "hasValue": lambda of: of.present,
    "value": _value,
    "orValue": _alternative,
    "or": lambda of, other: of if of.present else other,
    "isGreaterThan": lambda left, right: left > right,
    "isLessThan": lambda left, right: left < right,
    "compareTo": lambda left, right: (left > right) - (left < right),
    "isInteger": lambda value: value.is_integer,
    "asInteger": lambda value: value.as_integer,
}
