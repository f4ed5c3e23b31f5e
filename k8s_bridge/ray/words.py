"""The last words of a job that failed, fit to be shown. Pure."""

from __future__ import annotations

import re

_LINES, _MOST = 5, 500
_HIDDEN = "[hidden]"
_KEYS = r"(?:password|passwd|secret|token|credential|api[_-]?key|access[_-]?key)"
_SECRETS = (
    (re.compile(rf"(?i)([\w-]*{_KEYS}[\w-]*[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {_HIDDEN}"),
    (re.compile(r"://[^/\s@]+@"), f"://{_HIDDEN}@"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*"), _HIDDEN),
    (re.compile(r"\bray-bridge-[0-9a-f]{8,}"), f"ray-bridge-{_HIDDEN}"),
)
"""What looks like a secret, by its name or its form: a driver prints whatever it likes."""


def last_words(message: str) -> str:
    """The end of what Ray says of a job, which is the end of its log where there is one.

    On one line, at most 500 characters, and without what looks like a secret.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = " | ".join(lines[-_LINES:])
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text if len(text) <= _MOST else "…" + text[1 - _MOST :]
