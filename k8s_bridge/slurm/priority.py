"""The priority that an owner asks for in a job's comment: wm:prio=N, acknowledged as wm:prio-applied=N. Pure.

A comment is its owner's to write, so it can do no more than this, up to a cap. 0 means "held" to Slurm and
is no priority.
"""

from __future__ import annotations

import re

HIGHEST = 2_147_483_647
ACKNOWLEDGEMENT = "wm:prio-applied="
_DIRECTIVE = re.compile(r"(?:^|(?<=[\s,;]))wm:prio=(\d{1,10})(?=$|[\s,;])", re.ASCII)
_ACKNOWLEDGED = re.compile(r"[\s,;]*(?:^|(?<=[\s,;]))wm:prio-applied=[^\s,;]*")


def asked(comment: str) -> int | None:
    """The priority in a comment, the last one if there are more; None when there is none that can be."""
    found = [int(text) for text in _DIRECTIVE.findall(comment)]
    return found[-1] if found and 0 < found[-1] <= HIGHEST else None


def capped(priority: int, *, cap: int) -> int:
    """At most `cap`, which is none when it is 0."""
    return min(priority, cap) if cap else priority


def acknowledged(comment: str, priority: int | None) -> str:
    """The comment with exactly this acknowledgement, or without any for None."""
    bare = _ACKNOWLEDGED.sub("", comment).strip()
    return bare if priority is None else f"{bare} {ACKNOWLEDGEMENT}{priority}".strip()
