"""The garbage collector, set for a process with many long-lived objects and few cycles."""

from __future__ import annotations

import gc

THRESHOLDS = (50_000, 20, 50)


def tune() -> None:
    """At start: collect rarely, so that decoding a listing is not interrupted hundreds of times."""
    gc.set_threshold(*THRESHOLDS)


def freeze() -> None:
    """After the first sync: what is there now stays, and is not walked at each collection."""
    gc.collect()
    gc.freeze()
