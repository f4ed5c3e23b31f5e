"""What sbatch reads out of the values of its options. Each reader raises ValueError with a text for people.

A reader gets the text as it was typed, None for an optional value that was not given, and returns one value
for each field that its option sets.
"""

from __future__ import annotations

import re

Values = tuple[object, ...]

MAX_INT = 2**31 - 1
_INTEGER = re.compile(r"\s*([+-]?\d+)", re.ASCII)
_MEMORY = re.compile(r"\s*\+?(\d+)(?:([kKmMgGtT])[bB]?)?", re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)
_CLOCK = re.compile(r"[\d:]*", re.ASCII)
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_UNLIMITED = frozenset({"-1", "infinite", "unlimited"})
_MOST_COLONS = 2
_SHARING = {
    "exclusive": "none",
    "oversubscribe": "oversubscribe",
    "user": "user",
    "mcs": "mcs",
    "topo": "topo",
}
_GRES_FLAGS = {
    "disable-binding": "GRES_BINDING_DISABLED",
    "enforce-binding": "GRES_BINDING_ENFORCED",
    "multiple-tasks-per-sharing": "",
    "one-task-per-sharing": "",
}
"""Empty for flags that the record does not show."""
_BINDINGS = frozenset({"GRES_BINDING_DISABLED", "GRES_BINDING_ENFORCED"})


def flag(_: str | None) -> Values:
    """An option that is there or not."""
    return (True,)


def words(text: str | None) -> Values:
    """Any text."""
    return (text or "",)


def lower(text: str | None) -> Values:
    """Any text; slurmctld keeps accounts and keys in small letters."""
    return ((text or "").lower(),)


def positive(text: str | None) -> Values:
    """A whole number above 0."""
    return (_whole(text, least=1),)


def natural(text: str | None) -> Values:
    """A whole number from 0 on."""
    return (_whole(text, least=0),)


def memory(text: str | None) -> Values:
    """MiB, rounded up: a number with K, M, G or T (and B); a bare number is MiB."""
    match = _MEMORY.fullmatch(text or "")
    if match is None:
        raise ValueError(f"{text!r} is not an amount of memory, such as 4G or 500M")
    number, unit = int(match.group(1)), (match.group(2) or "m").lower()
    return (-(-number // 1024) if unit == "k" else number * 1024 ** "mgt".index(unit),)


def minutes(text: str | None) -> Values:
    """Minutes, rounded up: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S; None for no limit, which 0 is too."""
    if (text or "").lower() in _UNLIMITED:
        return (None,)
    seconds = _seconds(text or "")
    if seconds > MAX_INT:
        raise ValueError(f"{text!r} is more than slurmctld can count")
    return (-(-seconds // _MINUTE) or None,)


def switches(text: str | None) -> Values:
    """COUNT[@TIME TO WAIT]: the count."""
    return positive((text or "").partition("@")[0])


def killing(text: str | None) -> Values:
    """The value of --no-kill."""
    if (text or "set").lower() not in {"set", "off", "no"}:
        raise ValueError(f"{text!r} is not one of set, off")
    return ()


def gres(text: str | None) -> Values:
    """A list of GRES, each with `gres/` in front as the record shows it; empty for none."""
    given = text or ""
    if given.startswith("gres:"):
        raise ValueError(f"{given!r} is not a GRES such as gpu:2; leave gres: out")
    if given.lower() == "none":
        return ("",)
    if given.lower() in {"help", "list"}:
        raise ValueError(f"{given!r} prints a list and submits nothing")
    return (",".join(item if item.startswith("gres/") else f"gres/{item}" for item in given.split(",")),)


def sharing(text: str | None) -> Values:
    """The word of --exclusive, as the record's `shared` has it."""
    word = (text or "exclusive").lower()
    if word not in _SHARING:
        raise ValueError(f"{text!r} is not one of {', '.join(_SHARING)}")
    return (_SHARING[word],)


def oversubscribed(_: str | None) -> Values:
    """--oversubscribe is a word of the same field."""
    return ("oversubscribe",)


def gres_flags(text: str | None) -> Values:
    """Flags by the record's names."""
    found: set[str] = set()
    for word in filter(None, (text or "").lower().split(",")):
        if word not in _GRES_FLAGS:
            raise ValueError(f"{word!r} is not one of {', '.join(_GRES_FLAGS)}")
        found.add(_GRES_FLAGS[word])
    if found >= _BINDINGS:
        raise ValueError("disable-binding and enforce-binding exclude each other")
    return (frozenset(found - {""}),)


def _whole(text: str | None, *, least: int) -> int:
    match = _INTEGER.fullmatch(text or "")
    number = int(match.group(1)) if match else -1
    if number < least:
        raise ValueError(f"{text!r} is not a whole number from {least} on")
    if number >= MAX_INT:
        raise ValueError(f"{number} is too large")
    return number


def _seconds(text: str) -> int:
    days, dash, clock = text.rpartition("-")
    runs, colons = len(_DIGITS.findall(text)), text.count(":")
    complete = runs >= colons + 1 + (1 if dash and colons else 0)
    if (
        not _CLOCK.fullmatch(clock)
        or (dash and not _DIGITS.fullmatch(days))
        or not complete
        or colons > _MOST_COLONS
    ):
        raise ValueError(f"{text!r} is not a time such as 90, 1:30:00 or 2-12")
    numbers = [int(run) for run in _DIGITS.findall(clock)]
    if dash:
        return int(days) * _DAY + _clock(numbers, (_HOUR, _MINUTE, 1))
    return _clock(numbers, (_HOUR, _MINUTE, 1) if len(numbers) > _MOST_COLONS else (_MINUTE, 1))


def _clock(numbers: list[int], scales: tuple[int, ...]) -> int:
    return sum(number * scale for number, scale in zip(numbers, scales, strict=False))
