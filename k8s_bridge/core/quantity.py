"""Kubernetes quantities as numbers: `500m` is 0.5, `64Gi` is 68719476736."""

from __future__ import annotations

import re
from fractions import Fraction

_FORM = re.compile(r"([+-]?\d+\.?\d*|[+-]?\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_SCALES = {
    "": Fraction(1),
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("num", start=-3)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def exact(text: str | int) -> Fraction:
    """The amount, in the resource's own unit; ValueError for what is no quantity."""
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    suffix = match[2] or ""
    scale = _SCALES.get(suffix)
    return Fraction(match[1] + suffix) if scale is None else Fraction(match[1]) * scale


def number(text: str | int) -> float:
    """The same for people and graphs."""
    return float(exact(text))
