"""Locks between the testbed's commands on this machine."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from k8s_bridge.sandbox.slurm_real.process import MARKER, kill, marked
from testbed.places import CACHE
from testbed.shell import say


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One at a time on this machine; whoever waits is told so.

    What is run meanwhile carries a mark: commands that a killed holder left behind end before the next
    one begins.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{name}.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another {name} of the testbed is under way: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        _end_marked(path)
        with mock.patch.dict(os.environ, {MARKER: str(path)}):
            yield


def _end_marked(path: Path) -> None:
    while left := list(marked(path)):
        for pid in left:
            kill(pid)
        time.sleep(0.05)
