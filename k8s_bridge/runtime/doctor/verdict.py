"""What a check says, and how a table of checks is read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

import msgspec

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hidden:
    """Could not be looked at: `why`, in the words of who refused."""

    why: str


Seen: TypeAlias = T | Hidden | None
"""What is there; or not there (None); or it may not be known."""


class Verdict(StrEnum):
    """How one thing that was looked at stands, the worst last."""

    FINE = "fine"
    UNSEEN = "unseen"
    """It could not be looked at: nothing is known."""
    DOUBTFUL = "doubtful"
    """It works, and will hurt."""
    WRONG = "wrong"
    """Jobs wait or fail until it is cured."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer of a check: what was seen, and what to do about it ("" when all is well)."""

    verdict: Verdict
    seen: str
    cure: str = ""


def fine(seen: str) -> Finding:
    """All is well."""
    return Finding(Verdict.FINE, seen)


def unseen(seen: str, *, cure: str) -> Finding:
    """Could not be looked at; `cure` is how it can be."""
    return Finding(Verdict.UNSEEN, seen, cure)


def doubtful(seen: str, *, cure: str) -> Finding:
    """Works, and will hurt."""
    return Finding(Verdict.DOUBTFUL, seen, cure)


def wrong(seen: str, *, cure: str) -> Finding:
    """Does not work."""
    return Finding(Verdict.WRONG, seen, cure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[S]):
    """A row of a table of checks. `why` says what happens where it is not so; no finding: does not apply."""

    name: str
    why: str
    look: Callable[[S], Iterable[Finding]]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as people and machines read it."""

    check: str
    about: str
    """The cluster, or a WorkloadMixing (`namespace/name`)."""
    verdict: Verdict
    seen: str
    why: str = ""
    cure: str = ""


def results(checks: Iterable[Check[S]], sight: S, *, about: str) -> Iterator[Result]:
    """What the checks say of what was seen."""
    for check in checks:
        for finding in check.look(sight):
            yield Result(
                check=check.name,
                about=about,
                verdict=finding.verdict,
                seen=finding.seen,
                why="" if finding.verdict is Verdict.FINE else check.why,
                cure=finding.cure,
            )
