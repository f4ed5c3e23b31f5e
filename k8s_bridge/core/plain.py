"""Texts of users made fit for terminals, log lines and manifests: they are shown and do nothing. Pure."""

from __future__ import annotations

import unicodedata

_HARMLESS = "\t\n"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, marks that turn the direction of writing, lone surrogates, and what ends a line unseen."""
_INSTEAD = "\N{REPLACEMENT CHARACTER}"


def printable(text: str, *, keep: str = _HARMLESS) -> str:
    """`text` with every character that would act instead of show replaced, but for those in `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c in keep or unicodedata.category(c) not in _HIDDEN else _INSTEAD for c in text)


def one_line(text: str) -> str:
    """The same, on one line."""
    return printable(text, keep="")
