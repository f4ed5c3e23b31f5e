"""Locks between the testbed's commands on this machine."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.places import CACHE
from testbed.shell import say


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One at a time on this machine; whoever waits is told so."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another {name} of the testbed is under way: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
