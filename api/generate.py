"""`python -m api.generate` writes every file that is made from the models; nothing else here does I/O."""

from __future__ import annotations

import sys
from pathlib import Path

from api.crd import crd_yaml, json_schema_text
from api.tables import docs_tables

_HERE = Path(__file__).parent
_DOCS = _HERE.parent / "docs" / "custom-resource.md"
BEGIN = "<!-- tables: made by `python -m api.generate` -->"
END = "<!-- end of tables -->"


def outputs() -> dict[Path, str]:
    """Path and right content of each generated file. ValueError when the docs have lost their markers."""
    return {
        _HERE / "crds" / "workloadmixings.yaml": crd_yaml(),
        _HERE / "crds" / "workloadmixing.schema.json": json_schema_text(),
        _DOCS: with_tables(_DOCS.read_text(encoding="utf-8")),
    }


def with_tables(page: str) -> str:
    """`page` with fresh tables between its markers. ValueError when a marker is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{_DOCS.name} must contain {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{docs_tables()}\n{END}{after}"


def main() -> None:
    """Write what differs and name it on standard output."""
    for path, text in outputs().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path.name}\n")


if __name__ == "__main__":
    main()
