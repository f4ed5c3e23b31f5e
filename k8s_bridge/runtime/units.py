"""What `GET /debug/units` answers and `top`, `explain` and `demo` show: one row for each unit of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec


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

    def rows(self) -> list[UnitRow]:
        """All units of all bridges."""
        return [detail.row for source in self._sources.values() for detail in source("")]

    def details(self, name: str) -> list[UnitDetail]:
        """Every unit called `name`: more than one where two bridges know the same job id."""
        return [detail for source in self._sources.values() for detail in source(name)]


UnitSource = Callable[[str], Iterable[UnitDetail]]
"""Asked with a unit's name, or with "" for all."""
