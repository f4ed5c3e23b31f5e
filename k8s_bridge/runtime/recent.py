"""What happened lately, for the status page: the newest changes, in memory only. Logs have all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from k8s_bridge.runtime.controller import Outcome, Result
from k8s_bridge.runtime.supervisor import Report

KEPT = 100
_TOLD = frozenset({Result.VERDICT, Result.GATE, Result.RETRY, Result.TERMINAL, Result.BUG})


class Happening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change. `what` is the state entered, or what was tried and failed."""

    at: float
    """Unix seconds."""
    workloadmixing: str
    what: str
    unit: str = ""
    reason: str = ""
    text: str = ""
    failed: bool = False


class Recent:
    """A hook of loops and of the supervisor. `clock` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: deque[Happening] = deque(maxlen=KEPT)

    def __call__(self, outcome: Outcome[Any]) -> None:
        """Keep changes of verdict, of the gate, and what failed."""
        if outcome.result in _TOLD:
            self._kept.append(
                Happening(
                    at=self._clock(),
                    workloadmixing=outcome.controller,
                    what=outcome.effect or outcome.state,
                    unit="" if outcome.key is None else str(outcome.key),
                    reason=outcome.reason or (outcome.result.value if outcome.failed else ""),
                    text=outcome.text,
                    failed=outcome.failed,
                )
            )

    def report(self, report: Report) -> None:
        """Keep starts, reloads, ends and crashes of a bridge; of a crash not its words."""
        crashed = report.error is not None
        name = type(report.error).__name__ if crashed else ""
        self._kept.append(
            Happening(
                at=self._clock(),
                workloadmixing=report.name,
                what=f"bridge {report.change.value}",
                reason=name,
                failed=crashed,
            )
        )

    def newest(self) -> list[Happening]:
        """The newest first."""
        return list(reversed(self._kept))
