"""Values that are counts of several things: nodes, sockets and task ids. Readers are as in `values`."""

from __future__ import annotations

import re

from k8s_bridge.slurm.script.values import MAX_INT, Values

_NODES = re.compile(r"\s*\+?(\d+)([kK]?)([mM]?)\s*", re.ASCII)
_SIZE = re.compile(r"\s*(\d+)([kKmM]?)(?:-\d+[kKmM]?)?", re.ASCII)
_STEPPED = re.compile(r"(\d+)-(\d+):(\d+)", re.ASCII)
_COUNTS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", re.ASCII)
_ARRAY = re.compile(r"(\d+(?:-\d+(?::[1-9]\d*)?)?(?:,\d+(?:-\d+(?::[1-9]\d*)?)?)*)(?:%(\d+))?", re.ASCII)
_SCALES = {"": 1, "k": 2**10, "m": 2**20}
_MOST_SIZES = 3


def nodes(text: str | None) -> Values:
    """N, MIN-MAX or a list such as 1,4,8 and 2-16:2: (given, least, most)."""
    given = text or ""
    if "," in given or ":" in given:
        return (True, *_listed_nodes(given))
    low_text, dash, high_text = given.partition("-")
    low = 1 if dash and not low_text.strip() else _node_number(low_text, whole=given)
    high = _node_number(high_text, whole=given) if dash else low
    return (True, low, _ordered(low, high, whole=given))


def array(text: str | None) -> Values:
    """Task ids such as 1-10, 0-6:2 or 1,5,9, with %LIMIT perhaps; a limit of 0 is none."""
    if not text:
        return ("",)
    match = _ARRAY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a list of task ids, such as 1-10, 0-6:2 or 1,5,9%2")
    ids, limit = match.group(1), int(match.group(2) or 0)
    for item in ids.split(","):
        low, _, high = item.partition(":")[0].partition("-")
        if int(high or low) < int(low):
            raise ValueError(f"{ids!r}: the end is below the beginning")
    return (f"{ids}%{limit}" if limit else ids,)


def sockets(text: str | None) -> Values:
    """SOCKETS[:CORES[:THREADS]], each may be * or empty: (given, sockets, cores, threads)."""
    parts = (text or "").split(":")
    if len(parts) > _MOST_SIZES:
        raise ValueError(f"{text!r} is not SOCKETS[:CORES[:THREADS]]")
    return (True, *(_size(part) for part in (*parts, "", "")[:_MOST_SIZES]))


def _node_number(text: str, *, whole: str) -> int:
    match = _NODES.fullmatch(text)
    number = -1 if match is None else int(match.group(1)) * _scale(match.group(2)) * _scale(match.group(3))
    if not 0 <= number <= MAX_INT:
        raise ValueError(f"{whole!r} is not a number of nodes, such as 4, 2-4 or 1k")
    return number


def _listed_nodes(text: str) -> tuple[int, int]:
    """Of counts such as 1,4,8-9, or alone LOW-HIGH:STEP, where sbatch leaves HIGH itself out."""
    stepped = _STEPPED.fullmatch(text)
    if stepped:
        low, high, step = map(int, stepped.groups())
        counts = range(low, high, step or 1)
        if low < high and step:
            return counts[0], counts[-1]
    if stepped or not _COUNTS.fullmatch(text):
        raise ValueError(f"{text!r} is not a list of node counts, such as 1,4,8 or 2-16:2")
    found: list[int] = []
    for item in text.split(","):
        low_text, _, high_text = item.partition("-")
        found += (int(low_text), _ordered(int(low_text), int(high_text or low_text), whole=text))
    return min(found), max(found)


def _ordered(low: int, high: int, *, whole: str) -> int:
    if high != 0 and high < low:
        raise ValueError(f"{whole!r}: the end is below the beginning")
    return high


def _size(text: str) -> int | None:
    if text in {"", "*"}:
        return None
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number of sockets, cores or threads")
    return int(match.group(1)) * _scale(match.group(2))


def _scale(unit: str) -> int:
    return _SCALES[unit.lower()]
