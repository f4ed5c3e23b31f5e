"""Kubernetes quantities as exact integers: cpu in thousandths, everything else in whole units. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

Amounts = Counter[str]
"""Resource name to amount; a missing resource is 0."""

_QUANTITY = re.compile(r"^([+-]?[0-9.]+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d+))?$")
_SUFFIX: dict[str, Decimal] = {
    **{
        s: Decimal(1000) ** n
        for n, s in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), start=-3)
    },
    **{f"{s}i": Decimal(1024) ** n for n, s in enumerate("KMGTPE", start=1)},
}
_MILLI = "cpu"


@lru_cache(maxsize=4096)
def parse(resource: str, text: str) -> int:
    """The amount of `resource` that `text` means, rounded up. Raises ValueError for what is no quantity."""
    match = _QUANTITY.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, suffix, exponent = match.groups()
    scale = Decimal(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""]
    value = Decimal(number) * scale * (1000 if resource == _MILLI else 1)
    return int(value.to_integral_value(rounding=ROUND_CEILING))


def amounts(resources: Mapping[str, object]) -> Amounts:
    """A resource list of the API as amounts."""
    return Counter({name: parse(name, str(text)) for name, text in resources.items()})


def times(unit: Mapping[str, int], count: int) -> Amounts:
    """`count` times `unit`; unlike Counter arithmetic this keeps zeroes."""
    return Counter({name: amount * count for name, amount in unit.items()})


def text(resource: str, amount: int) -> str:
    """The canonical text of an amount, as Kubernetes prints it."""
    if resource == _MILLI:
        return _decimal(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return _shortest(amount, ("", *(f"{s}i" for s in "KMGTPE")), base=1024)
    return _decimal(amount)


def texts(values: Mapping[str, int]) -> dict[str, str]:
    """A resource list for the API."""
    return {name: text(name, amount) for name, amount in values.items()}


def _decimal(amount: int) -> str:
    return _shortest(amount, ("", "k", "M", "G", "T", "P", "E"), base=1000)


def _shortest(amount: int, suffixes: Iterable[str], *, base: int) -> str:
    last = ""
    for suffix in suffixes:
        last = suffix
        if amount == 0 or amount % base:
            break
        amount //= base
    return f"{amount}{last}" if amount else "0"
