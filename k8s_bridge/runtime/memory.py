"""The garbage collector, set for a process with many long-lived objects and few cycles."""

from __future__ import annotations

import gc

from k8s_bridge.runtime.controller import K, Outcome, Result

THRESHOLDS = (50_000, 20, 50)


def tune() -> None:
    """At start: collect rarely, so that decoding a listing is not interrupted hundreds of times."""
    gc.set_threshold(*THRESHOLDS)


def freeze_when_open(outcome: Outcome[K]) -> None:
    """Hook of a loop: when its sources are synced, what is there stays and need not be walked again."""
    if outcome.result is Result.GATE and outcome.state == "open":
        if not gc.get_freeze_count():
            gc.collect()
        gc.freeze()
