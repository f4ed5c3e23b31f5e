"""What was measured, beside its budgets: as a table for people, as JSON for machines. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BUDGETS = Path(__file__).with_name("budgets.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scenario. The names of `measured` end in their unit; `detail` is for the JSON file."""

    scenario: str
    measured: Mapping[str, float]
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measured value; `most` is its budget, None where there is none."""

    name: str
    value: float
    most: float | None

    @property
    def missed(self) -> bool:
        """Whether it is above its budget."""
        return self.most is not None and self.value > self.most

    @property
    def verdict(self) -> str:
        """ok, MISSED, or nothing without a budget."""
        if self.most is None:
            return ""
        return "MISSED" if self.missed else "ok"


def budgets(place: str, path: Path = BUDGETS) -> dict[str, float]:
    """The most that each value may be in that place."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        f"{scenario}.{name}": float(most)
        for scenario, part in document[place].items()
        for name, most in part.items()
    }


def lines(results: Iterable[Result], *, most: Mapping[str, float]) -> list[Line]:
    """All values. KeyError for a budget on what its scenario did not measure: it would hold for ever."""
    found: list[Line] = []
    for result in results:
        limits = {name for name in most if name.startswith(f"{result.scenario}.")}
        unmeasured = limits - result.measured.keys()
        if unmeasured:
            raise KeyError(f"there are budgets for what was not measured: {', '.join(sorted(unmeasured))}")
        found += [
            Line(name=name, value=value, most=most.get(name)) for name, value in result.measured.items()
        ]
    return found


def table(found: Iterable[Line]) -> str:
    """The lines as text; values with a budget say whether it was kept."""
    rows = [("measured", "value", "budget", "")]
    rows += [
        (line.name, _number(line.value), "" if line.most is None else f"<= {line.most:g}", line.verdict)
        for line in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in rows
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"  # noqa: PLR2004
