"""Bad days of slurmrestd, as data: rules that spoil answers, drawn from a seeded generator."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from enum import StrEnum


class Fault(StrEnum):
    """What goes wrong."""

    STATUS = "status"
    """An HTTP error status without JSON."""
    HANG = "hang"
    """No answer for `seconds`, then an error status."""
    SLOW = "slow"
    """The right answer, `seconds` late."""
    RESET = "reset"
    """The connection breaks without an answer, nothing done."""
    LOST_ANSWER = "lost answer"
    """The call is done, then the connection breaks."""
    EMPTY_LIST = "empty list"
    """A listing says that there is nothing."""
    MALFORMED_ITEM = "malformed item"
    """One item of a listing is of a wrong shape."""
    STALE = "stale"
    """A listing's last_update lies `seconds` in the past."""
    NOT_JSON = "not json"
    """Status 200 with a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """Spoil requests whose `METHOD path` matches `match`, with `probability`, at most `times` times.

    `seconds` is wall-clock time for HANG and SLOW: a client's patience is.
    """

    fault: Fault
    match: str = ""
    probability: float = 1.0
    times: int | None = None
    status: int = 500
    seconds: float = 1.0


@dataclass(eq=False)
class Faults:
    """The rules in force. The first that matches and is drawn wins."""

    rules: tuple[FaultRule, ...] = ()
    seed: int = 0
    _used: dict[FaultRule, int] = field(default_factory=dict)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - repeatable on purpose

    def add(self, rule: FaultRule) -> None:
        """Put a rule in force, after those that are."""
        self.rules += (rule,)

    def remove(self, rule: FaultRule) -> None:
        """Take a rule out; one that is not there is no error."""
        self.rules = tuple(other for other in self.rules if other is not rule)

    def hits(self, rule: FaultRule) -> int:
        """How often a rule has struck."""
        return self._used.get(rule, 0)

    def draw(self, method: str, path: str) -> FaultRule | None:
        """The fault that this request meets, if any."""
        return next((rule for rule in self.rules if self._hits(rule, f"{method} {path}")), None)

    def _hits(self, rule: FaultRule, request: str) -> bool:
        used = self._used.get(rule, 0)
        if (rule.times is not None and used >= rule.times) or not re.search(rule.match, request):
            return False
        hit = self._random.random() < rule.probability
        self._used[rule] = used + hit
        return hit
