"""The fenced blocks of the documents: which are commands, and whether and how each is run.

A marker in front of a block holds for it and those that follow, up to the next marker or heading of level 1:
`<!-- run -->`, `<!-- run until FILE -->` (in the background, until FILE is there), `<!-- not run: why -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
COMMANDS = "shell"
"""The language of blocks that hold commands."""
LANGUAGES = frozenset({COMMANDS, "text", "yaml", "json", "lua", "ini", "promql", "dockerfile", "python"})
_MARKER = re.compile(r"<!-- (run|run until [\w./-]+|not run: .+) -->")
_FENCE = re.compile(r"```(\S*)$")
_WAIT = 'for _ in $(seq 600); do [ -e "{file}" ] && break; sleep 0.2; done; [ -e "{file}" ]'


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block; `line` counts from 1."""

    page: Path
    line: int
    language: str
    text: str
    marker: str

    @property
    def runs(self) -> bool:
        return self.language == COMMANDS and self.marker.startswith("run")

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    marker, language, begun, lines = "", None, 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if language is not None and line == "```":
            text = "\n".join(lines)
            yield Block(page=page, line=begun, language=language, text=text, marker=marker)
            language = None
        elif language is not None:
            lines.append(line)
        elif fence:
            language, begun, lines = fence[1], number, []
        elif found := _MARKER.fullmatch(line.strip()):
            marker = found[1]


def script(page: Path) -> str:
    """All blocks of a page that are run, as one session of bash."""
    parts = ["set -euo pipefail"]
    for block in blocks(page):
        if not block.runs:
            continue
        file = block.marker.removeprefix("run").removeprefix(" until ")
        parts.append(
            f"{{\n{block.text}\n}} >background.log 2>&1 &\n{_WAIT.format(file=file)}" if file else block.text
        )
    return "\n".join(parts) + "\n"


def pages_that_run() -> list[Path]:
    return [page for page in PAGES if any(block.runs for block in blocks(page))]
