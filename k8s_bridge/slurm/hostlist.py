"""Slurm's hostlists: `w-[1,3-4,2]x,gpu-[01-03]` and back to names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

MAX_NAMES = 65_536
"""slurmctld's own bound on nodes; a longer list is refused, not cut."""

_PIECE = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand(hostlist: str) -> tuple[str, ...]:
    """The names, in the order of the list; "" is none. ValueError when it is malformed or too long."""
    pieces = _PIECE.findall(hostlist)
    if ",".join(pieces) != hostlist:
        raise ValueError(f"not a hostlist: {hostlist!r}")
    names: list[str] = []
    for piece in pieces:
        for name in _names(piece):
            names.append(name)
            if len(names) > MAX_NAMES:
                raise ValueError(f"more than {MAX_NAMES} names in {hostlist!r}")
    return tuple(names)


def _names(piece: str) -> Iterator[str]:
    parts = [
        _numbers(found.group(1)) if found.group(2) is None else (found.group(2),)
        for found in _PART.finditer(piece)
    ]
    return ("".join(name) for name in product(*parts))


def _numbers(ranges: str) -> tuple[str, ...]:
    """The members of a bracket, with the zeros in front that the lower bound has."""
    found: list[str] = []
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if match is None:
            raise ValueError(f"not a range: {text!r}")
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) - int(low) >= MAX_NAMES or int(high) < int(low):
            raise ValueError(f"not a usable range: {text!r}")
        found.extend(str(number).zfill(len(low)) for number in range(int(low), int(high) + 1))
    return tuple(found)
