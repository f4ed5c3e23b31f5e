"""Writes pictures of what `top` and `explain` show, from a recording of the tutorial (docs/recorded.json)."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
from rich.console import Console, RenderableType

from k8s_bridge.cli.tables import render_detail, render_units, sort_units
from k8s_bridge.runtime.units import UnitDetail, UnitRow

DOCS = Path(__file__).parent
_WIDTH = 112
_FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Recorded(msgspec.Struct, frozen=True):
    """What `top -o json` and `explain -o json` printed at `now` (Unix seconds)."""

    now: float
    units: tuple[UnitRow, ...]
    detail: UnitDetail


def pictures() -> dict[Path, str]:
    """Each picture as it should be."""
    recorded = msgspec.json.decode((DOCS / "recorded.json").read_bytes(), type=Recorded)
    units = render_units(sort_units(recorded.units), now=recorded.now)
    detail = render_detail(recorded.detail, now=recorded.now)
    return {
        DOCS / "images" / "top.svg": _picture(units, title="k8s-bridge top"),
        DOCS / "images" / "explain.svg": _picture(
            detail, title=f"k8s-bridge explain {recorded.detail.row.name}"
        ),
    }


def _picture(shown: RenderableType, *, title: str) -> str:
    """An SVG that fetches nothing: the reader's own monospace font will do."""
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(shown)
    return _FONT_FACES.sub("", console.export_svg(title=title, unique_id="terminal"))


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")
