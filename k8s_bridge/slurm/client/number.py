"""Slurm's numbers: plain, null or `{set, infinite, number}`; the highest mean "not set" and "no limit"."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

_MARKS = 2
"""The two highest values of each unsigned width: INFINITE and NO_VAL."""


class Number(msgspec.Struct, frozen=True):
    """A number of API versions from v0.0.39 on."""

    set: bool = True
    infinite: bool = False
    number: float | int = 0


AnyNumber = Number | int | float | None


def _reader(bits: int) -> Callable[[AnyNumber], int | None]:
    ceiling = 2**bits - _MARKS

    def read(raw: AnyNumber) -> int | None:
        if isinstance(raw, Number):
            raw = raw.number if raw.set and not raw.infinite else None
        return None if raw is None or raw >= ceiling else int(raw)

    return read


of16 = _reader(16)
of32 = _reader(32)
of64 = _reader(64)
"""A field of that many bits: the number, or None when it is not set or has no limit."""


def positive16(raw: AnyNumber) -> int | None:
    """A 16-bit field where 0 means "not set"."""
    return of16(raw) or None


def positive32(raw: AnyNumber) -> int | None:
    """A 32-bit field where 0 means "not set"."""
    return of32(raw) or None


def time_of(raw: AnyNumber) -> int:
    """Unix seconds; 0 when not set."""
    return of64(raw) or 0
