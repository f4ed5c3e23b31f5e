"""How units look on a terminal: the one rendering that `top`, `explain` and `demo` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from k8s_bridge.core.plain import one_line, printable
from k8s_bridge.runtime.units import UnitDetail, UnitRow, age, sort_units

__all__ = ["UnitDetail", "UnitRow", "age", "render_detail", "render_units", "sort_units"]

_NODES_SHOWN = 3

_STYLES = {
    "HELD": "cyan",
    "QUEUED": "yellow",
    "ADMITTED": "blue",
    "READY": "blue",
    "RELEASED": "blue",
    "RUNNING": "green",
    "EVICTED": "magenta",
    "LOST": "red",
    "REFUSED": "red",
    "FAILED": "red",
    "CAPACITYFAILED": "red",
    "TRESPASS": "red",
    "DRAINING": "dim",
    "DONE": "dim",
}


def render_units(rows: Sequence[UnitRow], *, now: float, title: str = "") -> RenderableType:
    """All rows as a table, with a line that sums them up. `now` is Unix seconds."""
    return _Units(rows, now=now, title=title)


class _Units:
    """Knows the width only when it is drawn, and gives it to what people look for first."""

    def __init__(self, rows: Sequence[UnitRow], *, now: float, title: str) -> None:
        self._rows = rows
        self._now = now
        self._title = title

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(
            title=self._title or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
        )
        columns = self._columns(options.max_width)
        for column in columns:
            justify: Literal["right", "left"] = "right" if column in _RIGHT else "left"
            table.add_column(column, justify=justify, no_wrap=column != _WHY, overflow="ellipsis")
        for row in self._rows:
            table.add_row(*(_styled(row, column, self._now) for column in columns))
        yield table
        yield Text(_summary(self._rows), style="dim")

    def _columns(self, width: int) -> list[str]:
        """What fits: columns that nobody fills go first, then those that matter least."""
        widths = {
            column: self._width(column) for column, cell in _CELLS.items() if any(map(cell, self._rows))
        }
        for column in _LEAST_FIRST:
            if sum(widths.values()) <= width:
                break
            widths.pop(column, None)
        return list(widths)

    def _width(self, column: str) -> int:
        cells = (len(_styled(row, column, self._now)) for row in self._rows)
        widest = max(len(column), *cells) + _GAP
        return min(widest, _WHY_WIDTH) if column == _WHY else widest


def render_detail(detail: UnitDetail, *, now: float) -> RenderableType:
    """One unit in full: its state, what happens next, what was asked for, the facts that it rests on."""
    row = detail.row
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(_plain(row.kind), _plain(row.name))
    grid.add_row("State", _state(row) + Text(f"  for {age(now - row.since)}" if row.since else ""))
    if row.text or row.reason:
        grid.add_row("Why", _plain(f"{row.text} ({row.reason})" if row.reason else row.text))
    if detail.next_step:
        grid.add_row("Next", _plain(detail.next_step))
    for option, became in detail.options.items():
        grid.add_row(_plain(option), _plain(became))
    for name, value in (*_own_facts(row), *detail.facts.items()):
        if value:
            grid.add_row(_plain(name), _plain(value))
    return grid


def _plain(text: str) -> Text:
    """No markup, and nothing that a terminal would obey: names and texts are what users wrote."""
    return Text(printable(text))


def _own_facts(row: UnitRow) -> tuple[tuple[str, str], ...]:
    return (
        ("Partition", row.partition),
        ("User", row.user),
        ("Queue", row.queue),
        ("Priority", "" if row.priority is None else str(row.priority)),
        ("Nodes", ", ".join(row.nodes)),
        ("WorkloadMixing", row.workloadmixing),
    )


_WHY = "WAITS FOR"
_WHY_WIDTH = 34  # enough for a sentence to be read over two or three lines
_GAP = 2
_CELLS: Mapping[str, Callable[[UnitRow], str]] = {
    "KIND": lambda row: row.kind,
    "NAME": lambda row: row.name,
    "PARTITION": lambda row: row.partition,
    "USER": lambda row: row.user,
    "QUEUE": lambda row: row.queue,
    "PRIO": lambda row: "" if row.priority is None else str(row.priority),
    "STATE": lambda row: row.state,
    "AGE": lambda row: str(row.since or ""),
    "NODES": lambda row: _nodes(row.nodes),
    _WHY: lambda row: row.text or row.reason,
}
_LEAST_FIRST = ("NODES", "PRIO", "KIND", "USER", "PARTITION", "QUEUE")
_RIGHT = frozenset({"PRIO", "AGE"})


def _styled(row: UnitRow, column: str, now: float) -> Text:
    """Never markup: names and texts are what users wrote."""
    if column == "STATE":
        return _state(row)
    if column == "AGE":
        return Text(age(now - row.since) if row.since else "-")
    return Text(one_line(_CELLS[column](row)) or "-")


def _state(row: UnitRow) -> Text:
    return Text(row.state, style=_STYLES.get(row.state.upper(), ""))


def _nodes(nodes: Sequence[str]) -> str:
    shown = ",".join(nodes[:_NODES_SHOWN])
    return f"{shown} +{len(nodes) - _NODES_SHOWN}" if len(nodes) > _NODES_SHOWN else shown


def _summary(rows: Sequence[UnitRow]) -> str:
    if not rows:
        return "Nothing to show: no unit is known."
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    return f"{len(rows)} units: " + ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
