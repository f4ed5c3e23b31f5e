"""Kubernetes quantities as numbers for people and graphs: `500m` is 0.5, `64Gi` is 68719476736."""

from __future__ import annotations

import re

_FORM = re.compile(r"([+-]?\d+\.?\d*|[+-]?\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_SCALES = {
    "": 1.0,
    **{suffix: 1000.0**power for power, suffix in enumerate("num", start=-3)},
    **{suffix: 1000.0**power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": 1024.0**power for power, suffix in enumerate("KMGTPE", start=1)},
}


def number(text: str | int) -> float:
    """The amount, in the resource's own unit; ValueError for what is no quantity."""
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    suffix = match[2] or ""
    scale = _SCALES.get(suffix)
    return float(match[1] + suffix) if scale is None else float(match[1]) * scale
