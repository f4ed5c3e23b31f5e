"""Child processes that are known by an environment marker, so that a later run can find and end the ruins."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

MARKER = "K8S_BRIDGE_SLURM"
_GONE_AFTER = 5.0


class Process:
    """One daemon. Independent of the event loop that started it: waits go through a pidfd."""

    def __init__(self, name: str, *, popen: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.pid = popen.pid
        self._popen = popen

    @classmethod
    def spawn(cls, name: str, *, argv: Sequence[str], env: Mapping[str, str], log: Path) -> Process:
        """Start `argv` in a session of its own, beside its `log`: a core dump belongs there, not here."""
        with log.open("ab") as out:
            popen = subprocess.Popen(  # noqa: S603 - argv is built by this package
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=log.parent,
                start_new_session=True,
            )
        return cls(name, popen=popen)

    @property
    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._popen.poll() is None

    async def wait(self) -> int:
        """Its exit code as subprocess counts it (negative: the signal)."""
        await gone(self.pid)
        return self._popen.wait()

    async def stop(self, *, grace: float) -> int:
        """SIGTERM, after `grace` seconds SIGKILL; its exit code."""
        if self.alive:
            self._popen.terminate()
            if not await gone(self.pid, timeout=grace):
                self._popen.kill()
        return await self.wait()


async def gone(pid: int, *, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - the answer, not an exception
    """Wait until process `pid` has ended (a zombie has); False when it still runs after `timeout` seconds."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(fd, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), timeout)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(fd)
        os.close(fd)
    return True


def children(pid: int) -> tuple[int, ...]:
    """The direct children of a process, () when it is gone."""
    try:
        return tuple(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except (FileNotFoundError, ProcessLookupError):
        return ()


def marked(directory: Path) -> Iterator[int]:
    """Every process, other than this one, whose environment says that it belongs to `directory`."""
    wanted = f"{MARKER}={directory}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid() and wanted in _environment(entry):
            yield int(entry.name)


async def end_marked(directory: Path) -> None:
    """Kill every process that belongs to `directory`, and wait until they are gone."""
    pids = tuple(marked(directory))
    for pid in pids:
        kill(pid)
    for pid in pids:
        await gone(pid, timeout=_GONE_AFTER)


def kill(pid: int, *, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal; a process that is gone already is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _environment(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except (OSError, ProcessLookupError):
        return []
