"""The task list of an array's record, such as `0-999:3,1001%7`."""

from __future__ import annotations

import re

_ITEM = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_CUT = "..."


def listed_tasks(text: str) -> int:
    """How many tasks `text` lists. slurmctld cuts it at 64 characters: then there are at least so many."""
    ranges, _, _ = text.partition("%")
    items = ranges.removesuffix(_CUT).split(",")
    whole = items[:-1] if ranges.endswith(_CUT) else items
    return sum(_count(found) for item in whole if (found := _ITEM.fullmatch(item)))


def _count(item: re.Match[str]) -> int:
    first, last, step = item.groups()
    return len(range(int(first), int(last or first) + 1, int(step or 1)))
