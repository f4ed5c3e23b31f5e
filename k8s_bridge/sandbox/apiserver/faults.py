"""Faults as data: what shall go wrong, for which requests, how often. Deterministic by seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

from k8s_bridge.sandbox.apiserver.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Refuse with a Status instead of serving. `retry_after` in seconds becomes the header."""

    code: int
    reason: str = "InternalError"
    message: str = "injected fault"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Serve only after `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trickle:
    """Serve, but send the body in `pieces` with `seconds` between them."""

    seconds: float
    pieces: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Break the connection without serving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseAnswer:
    """Serve (the write happens), then break the connection instead of answering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfOpen:
    """Never say anything again: of a watch after `after` events, of another request from the start."""

    after: int = 0


class WatchEnd(Enum):
    """How a watch is cut: as servers end one, by breaking the connection, or with 410 in the stream."""

    CLEAN = "clean"
    ABORT = "abort"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutWatch:
    """End a watch once `after` events have been sent."""

    after: int = 0
    how: WatchEnd = WatchEnd.ABORT


Fault = Answer | Delay | Trickle | Drop | LoseAnswer | HalfOpen | CutWatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A fault for requests of `verb` (get, list, watch, create, …; "" any) on `kind` (None any).

    It strikes at most `times` (None: for ever), each time with `probability`.
    """

    fault: Fault
    verb: str = ""
    kind: Kind | None = None
    times: int | None = None
    probability: float = 1.0


class Faults:
    """The rules in force. The first that matches and strikes decides about a request."""

    def __init__(self, *, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - faults must repeat, not surprise
        self._rules: list[tuple[Rule, int]] = []

    def add(self, rule: Rule) -> None:
        """Put a rule in force, after those that are."""
        self._rules.append((rule, 0))

    def remove(self, rule: Rule) -> None:
        """Take a rule out; one that is not there is no error."""
        self._rules = [(other, hits) for other, hits in self._rules if other is not rule]

    def clear(self) -> None:
        """Take all rules out."""
        self._rules = []

    def hits(self, rule: Rule) -> int:
        """How often a rule in force has struck."""
        return sum(hits for other, hits in self._rules if other is rule)

    def strike(self, *, verb: str, kind: Kind | None) -> Fault | None:
        """The fault of this request, counted."""
        for index, (rule, hits) in enumerate(self._rules):
            if self._matches(rule, hits, verb=verb, kind=kind):
                self._rules[index] = (rule, hits + 1)
                return rule.fault
        return None

    def _matches(self, rule: Rule, hits: int, *, verb: str, kind: Kind | None) -> bool:
        if rule.times is not None and hits >= rule.times:
            return False
        if rule.verb not in ("", verb) or (rule.kind is not None and rule.kind is not kind):
            return False
        return rule.probability >= 1.0 or self._random.random() < rule.probability
