"""The garbage collector, set for a process with many long-lived objects and few cycles."""

from __future__ import annotations

import gc

from k8s_bridge.runtime.controller import K, Outcome, Result

THRESHOLDS = (5_000, 10, 10)
"""Large enough for listings of 20,000 jobs. A fault leaves cycles (an error holds the frames that it passed),
which lie about until so many objects are there: these few are a megabyte."""


def tune() -> None:
    """At start: collect rarely, so that decoding a listing is not interrupted hundreds of times."""
    gc.set_threshold(*THRESHOLDS)


def freeze_when_open(outcome: Outcome[K]) -> None:
    """Hook of a loop: when its sources are synced, what is there stays and need not be walked again.

    What ended since the last time is looked for first: once frozen, a cycle that nobody uses would stay, too.
    """
    if outcome.result is Result.GATE and outcome.state == "open":
        gc.unfreeze()
        gc.collect()
        gc.freeze()
