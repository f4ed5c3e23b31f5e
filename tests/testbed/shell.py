"""Commands and daemons. Daemons carry a mark, by which `down` finds exactly what `up` has started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from k8s_bridge.sandbox.slurm_real.process import MARKER, marked
from testbed.places import LOGS, NAME, NETNS, RUN

_STARTED = time.monotonic()
_LAST_WORDS = 2_000


class Failed(RuntimeError):
    """A command failed, or something did not come up; the text says what was seen."""


def say(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"[{time.monotonic() - _STARTED:5.1f} s] {text}\n")


def run(*argv: str | Path, stdin: str = "", env: dict[str, str] | None = None) -> str:
    """The output of a command. Raises Failed with its last words."""
    words = [str(word) for word in argv]
    done = subprocess.run(
        words, input=stdin, capture_output=True, text=True, check=False, env=os.environ | (env or {})
    )
    if done.returncode:
        raise Failed(f"{' '.join(words)[:200]}: {(done.stderr or done.stdout).strip()[-_LAST_WORDS:]}")
    return done.stdout


def inside(netns: str = NAME) -> tuple[str, ...]:
    """Prefix of a command that runs in a network namespace; `ip netns exec` would hide the cgroups."""
    return ("nsenter", f"--net={NETNS / netns}")


def daemon(name: str, *argv: str | Path, netns: str = NAME) -> None:
    """Start a marked daemon, nobody's child, whose output goes to a log of its own."""
    with (LOGS / f"{name}.log").open("ab") as log:
        subprocess.run(
            ["setsid", "--fork", *inside(netns), *map(str, argv)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, MARKER: str(RUN)},
            check=True,
        )


def running() -> Counter[str]:
    """How many daemons of each program run."""
    return Counter(_program_of(pid) for pid in marked(RUN))


def _program_of(pid: int) -> str:
    try:
        return Path(Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]).name
    except (FileNotFoundError, ProcessLookupError):
        return ""


def until(what: str, ready: Callable[[], object], *, seconds: float = 60.0, pause: float = 0.2) -> None:
    """Wait until `ready` does not raise Failed. Raises Failed after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            ready()
        except Failed as error:
            if time.monotonic() > deadline:
                raise Failed(f"not within {seconds:g} s: {what}; the logs are in {LOGS}\n{error}") from error
            time.sleep(pause)
        else:
            return
