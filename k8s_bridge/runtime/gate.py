"""Whether a loop may decide now: every source fresh (rule 6) and the lease ours."""

from __future__ import annotations

from collections.abc import Callable

STARTING = "starting"
STANDBY = "standby: another instance holds the lease"


class Gate:
    """Remembers the last answer, so that a change is told once."""

    def __init__(self, blocked: Callable[[], str], may_write: Callable[[], bool]) -> None:
        self._blocked = blocked
        self._may_write = may_write
        self.why = STARTING
        self.error: Exception | None = None

    @property
    def is_open(self) -> bool:
        """As of the last look."""
        return not self.why

    def look(self) -> bool:
        """Ask again; True when the answer is another one than before."""
        before, self.why = self.why, self._ask()
        return before != self.why

    def _ask(self) -> str:
        self.error = None
        if not self._may_write():
            return STANDBY
        try:
            return self._blocked()
        except Exception as error:  # noqa: BLE001 - a source that cannot be judged is not fresh
            self.error = error
            return f"the sources cannot be judged: {error}"
