"""How Slurm answers: remembers the last good poll and the last trouble, for conditions and for the gate."""

from __future__ import annotations

import time
from collections.abc import Callable

from api.v1alpha1.status import ConditionType
from k8s_bridge.core.conditions import Finding
from k8s_bridge.core.errors import BridgeError, Terminal
from k8s_bridge.slurm.client.token import TokenSource
from k8s_bridge.slurm.model import Ping
from k8s_bridge.slurm.policy import NO_TROUBLE, Trouble
from k8s_bridge.slurm.report import SlurmHealth

STALE_LEAST = 30.0
STALE_POLLS = 3.0
"""An answer older than this (seconds, and poll intervals) is no ground for a decision."""
_TOKEN = "Token"  # noqa: S105  # how the reasons about tokens begin


class HealthWatch:
    """Told of polls; asked by the reporter and by the loop's gate."""

    def __init__(
        self, token: TokenSource, *, interval: float, clock: Callable[[], float] = time.time
    ) -> None:
        self.ping: Ping | None = None
        self._token = token
        self._stale = max(STALE_LEAST, STALE_POLLS * interval)
        self._clock = clock
        self._good = 0.0
        self._error: BridgeError | None = None

    def good(self) -> None:
        """A poll ended well."""
        self._good, self._error = self._clock(), None

    def bad(self, error: BridgeError) -> None:
        """A poll ended with `error`."""
        self._error = error

    def stale(self) -> str:
        """Why nothing may be decided on what is known of Slurm; "" when it is fresh."""
        if not self._good:
            return f"Slurm has not answered yet{': ' + str(self._error) if self._error else ''}"
        age = self._clock() - self._good
        if age <= self._stale:
            return ""
        return f"Slurm's last good answer is {age:.0f} s old: {self._error or 'no answer'}"

    def unknown(self) -> str:
        """Why nothing may be decided before Slurm has said which cluster it is; "" once it has."""
        return "" if self.ping is not None else "Slurm has not said yet which cluster it is"

    def now(self) -> SlurmHealth:
        """For the status."""
        error, reason = "", ""
        if self._error is not None and not _about_token(self._error):
            reason, error = _reason(self._error), str(self._error)
        elif not self._good and self._error is None:
            reason, error = "Connecting", "Slurm has not answered yet"
        return SlurmHealth(
            error=error,
            reason=reason,
            last_good=self._good,
            token_trouble=self._token_trouble(),
            token_expires=self._expires(),
        )

    @staticmethod
    def unreachable(error: BridgeError) -> tuple[Finding, ...]:
        """The conditions while there is not even a client."""
        kinds = (ConditionType.READY, ConditionType.SLURM_REACHABLE)
        return tuple(
            Finding(type=k, status="False", reason=_reason(error), message=str(error)) for k in kinds
        )

    def _token_trouble(self) -> Trouble:
        if self._error is not None and _about_token(self._error):
            return _reason(self._error), str(self._error)
        expires = self._expires()
        if expires is not None and expires <= self._clock():
            return "TokenExpired", "the Slurm token has expired; write a new one to its file or Secret"
        return NO_TROUBLE

    def _expires(self) -> float | None:
        try:
            return self._token.expires_at
        except BridgeError:
            return None


def _about_token(error: BridgeError) -> bool:
    return isinstance(error, Terminal) and error.reason.startswith(_TOKEN)


def _reason(error: BridgeError) -> str:
    return error.reason if isinstance(error, Terminal) else "Unreachable"
