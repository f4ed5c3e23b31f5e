"""Keeps secrets out of text: whatever was registered never leaves in a log line."""

from __future__ import annotations

import json
from urllib.parse import quote

REDACTED = "[redacted]"
_SHORTEST = 6  # replacing shorter texts would eat the log; no token is that short
_NESTED = 3
"""A header in a repr, in an exception's text, in a JSON line: each escapes what the one before wrote."""


class Redactor:
    """The secrets of this process, in every spelling in which text may carry them."""

    def __init__(self) -> None:
        self._spellings: list[str] = []

    def register(self, secret: str) -> None:
        """Never let `secret` out. Register a rotated token too; the old one stays registered."""
        secret = secret.strip()
        if len(secret) < _SHORTEST:
            return
        spellings = {secret}
        for _ in range(_NESTED):
            spellings |= {form for text in spellings for form in _escaped(text)}
        known = spellings.union(self._spellings)
        self._spellings = sorted(known, key=len, reverse=True)  # the longest first: one may hold another

    def __call__(self, text: str) -> str:
        """`text` without any registered secret."""
        for secret in self._spellings:
            if secret in text:
                text = text.replace(secret, REDACTED)
        return text


def _escaped(text: str) -> tuple[str, ...]:
    return json.dumps(text)[1:-1], repr(text)[1:-1], quote(text, safe="")
