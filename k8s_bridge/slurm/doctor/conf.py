"""Reads `scontrol show config`: no API of Slurm's tells its configuration. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_PROOF = "slurm_version"
_NULL = "(null)"


class NotAConfiguration(ValueError):
    """A text that is not the output of `scontrol show config`."""


def parse(text: str) -> Mapping[str, str]:
    """Values by keys in lower case; "" for (null). Sections after the first blank line are left out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            value = value.strip()
            found.setdefault(key.strip().lower(), "" if value == _NULL else value)
        elif found and not line.strip():
            break
    if _PROOF not in found:
        raise NotAConfiguration("this is not the output of `scontrol show config`")
    return found


def words(value: str) -> frozenset[str]:
    """A list such as `CR_CORE_MEMORY,CR_LLN`, in lower case; options lose what stands after their "="."""
    return frozenset(part.strip().partition("=")[0].lower() for part in value.split(",") if part.strip())


def number(value: str) -> int | None:
    """The number that a value such as `60 sec` begins with; None for words such as INFINITE."""
    head = value.split(maxsplit=1)[:1]
    return int(head[0]) if head and head[0].lstrip("-").isdecimal() else None


def option(value: str, name: str) -> str:
    """The value of one `name=value` in a list; "" when it is not there."""
    for part in value.split(","):
        key, _, found = part.strip().partition("=")
        if key.lower() == name:
            return found
    return ""
