"""Writes what docs/ takes from the code: the table of states. A test fails when it is stale."""

from __future__ import annotations

import re
from pathlib import Path

from k8s_bridge.slurm.decide import TABLE, Row

ARCHITECTURE = Path(__file__).parent / "architecture.md"
_MARKS = re.compile(r"(?<=<!-- states -->\n).*?(?=<!-- /states -->)", re.DOTALL)


def states() -> str:
    """The table of states in Markdown."""
    lines = ["| state | what shows it | what is done |", "| --- | --- | --- |"]
    return "\n".join([*lines, *map(_line, TABLE)]) + "\n"


def rendered(text: str) -> str:
    """`text` with the table between its marks."""
    return _MARKS.sub(lambda _: states(), text)


def _line(row: Row) -> str:
    shown, done = (_first_sentence(part.__doc__ or "") for part in (row.holds, row.move))
    return f"| {row.state.value} | {shown} | {done} |"


def _first_sentence(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


if __name__ == "__main__":
    ARCHITECTURE.write_text(rendered(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
