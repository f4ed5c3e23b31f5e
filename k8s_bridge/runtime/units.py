"""Units of work as people see them: in `top`, `explain` and `demo`, on the status page, at /debug/units."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

AT_A_TIME = 100
"""Units that are put together before others have their turn: a few milliseconds."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_ORDER = {state: place for place, state in enumerate(("RUNNING", "RELEASED", "READY", "ADMITTED", "QUEUED"))}


class UnitRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One unit as a person sees it."""

    kind: str
    """"Slurm job", "Job", "JobSet", "RayJob" …"""
    name: str
    """Slurm job id (`42`, `42_3`, `42+1`) or `namespace/name`."""
    state: str
    queue: str = ""
    """LocalQueue."""
    partition: str = ""
    user: str = ""
    priority: int | None = None
    reason: str = ""
    """One CamelCase word."""
    text: str = ""
    """What it waits for and why: one sentence."""
    since: float = 0.0
    """Unix seconds at which it entered `state`; 0 is unknown."""
    nodes: tuple[str, ...] = ()
    workloadmixing: str = ""
    """`namespace/name`."""


class UnitDetail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `explain`: the row, the facts it rests on in reading order, and what happens next."""

    row: UnitRow
    options: dict[str, str] = {}
    """What was asked for, and what each became: `--mem=4G` -> `4096 MiB on each node`."""
    facts: dict[str, str] = {}
    next_step: str = ""


def age(seconds: float) -> str:
    """`45s`, `12m`, `3h05m`, `2d04h`: two units at most, so that a column stays narrow."""
    total = max(0, int(seconds))
    if total < _MINUTE:
        return f"{total}s"
    if total < _HOUR:
        return f"{total // _MINUTE}m"
    if total < _DAY:
        return f"{total // _HOUR}h{total % _HOUR // _MINUTE:02d}m"
    return f"{total // _DAY}d{total % _DAY // _HOUR:02d}h"


def sort_units(rows: Iterable[UnitRow]) -> list[UnitRow]:
    """What runs first, then what is next; within a state by priority, then by how long it has been so."""
    return sorted(
        rows,
        key=lambda row: (
            _ORDER.get(row.state.upper(), len(_ORDER)),
            -(row.priority or 0),
            row.since,
            row.name,
        ),
    )


class Units:
    """The rows of every running bridge, asked for at the moment of the request."""

    def __init__(self) -> None:
        self._sources: dict[str, UnitSource] = {}

    def add(self, name: str, source: UnitSource) -> None:
        """Show the units of the bridge called `name` from now on."""
        self._sources[name] = source

    def remove(self, name: str) -> None:
        """The bridge called `name` is gone."""
        self._sources.pop(name, None)

    async def rows(self) -> list[UnitRow]:
        """All units of all bridges. There may be tens of thousands: the loops go on meanwhile."""
        found: list[UnitRow] = []
        for source in tuple(self._sources.values()):
            for detail in source(""):
                found.append(detail.row)
                if len(found) % AT_A_TIME == 0:
                    await asyncio.sleep(0)
        return found

    def details(self, name: str) -> list[UnitDetail]:
        """Every unit called `name`: more than one where two bridges know the same job id."""
        return [detail for source in self._sources.values() for detail in source(name)]


UnitSource = Callable[[str], Iterable[UnitDetail]]
"""Asked with a unit's name, or with "" for all."""
