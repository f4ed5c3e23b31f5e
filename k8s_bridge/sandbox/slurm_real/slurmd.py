"""slurmd as a pod would hold it: pid 1 of its own pid namespace, so that its end takes the jobs along."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from k8s_bridge.sandbox.slurm_real.network import Bridge
from k8s_bridge.sandbox.slurm_real.process import Process, children, gone, kill
from k8s_bridge.sandbox.slurm_real.world import World

_POLL = 0.02
_KILLED = 128 + signal.SIGKILL
_TERM_AGAIN = 0.25
_POD = ("unshare", "--pid", "--fork", "--kill-child=KILL")
_OWN_ADDRESS = """
ip link add eth0 type veth peer name "$2" netns "$1"
nsenter --net="/proc/$1/ns/net" ip link set "$2" master "$3" up
ip addr add "$4" dev eth0; ip link set eth0 up; ip link set lo up; hostname "$5"
shift 5; exec "$@"
"""


class SlurmdProcess:
    """One running slurmd. It ends by terminate (a pod is deleted) or kill (a machine loses power)."""

    def __init__(self, name: str, *, process: Process, port: int) -> None:
        self.name = name
        self._port = port
        self._process = process
        self._killed = False

    @property
    def alive(self) -> bool:
        """Whether slurmd has not ended yet."""
        return self._process.alive

    @property
    def runs_steps(self) -> bool:
        """Whether a step of a job, or its script, runs there."""
        return any(_is_step(pid) for pid in _offspring(self._process.pid))

    async def listening(self) -> bool:
        """Wait until slurmd accepts connections; False when it ends before that."""
        while self.alive:
            if any(_listens(pid, port=self._port) for pid in children(self._process.pid)):
                return True
            await asyncio.sleep(_POLL)
        return False

    async def wait(self) -> int:
        """The exit code of slurmd, 137 when it had to be killed."""
        code = await self._process.wait()
        # The parent in the outer pid namespace ends with 1 when what it holds was killed.
        return _KILLED if self._killed else code

    async def terminate(self, *, grace: float = 10.0) -> int:
        """SIGTERM to slurmd, SIGKILL after `grace` seconds; jobs end with it. Its exit code."""
        deadline = time.monotonic() + grace
        while (left := deadline - time.monotonic()) > 0:
            # Again and again: the first process of a pid namespace ignores it until it has a handler.
            for pid in children(self._process.pid):
                kill(pid, number=signal.SIGTERM)
            if await gone(self._process.pid, timeout=min(left, _TERM_AGAIN)):
                return await self.wait()
        return await self.kill()

    async def kill(self) -> int:
        """SIGKILL to slurmd and everything in it, without a word to slurmctld. Its exit code."""
        self._killed = self._killed or self.alive
        inner = children(self._process.pid)
        # Both: a slurmd that re-executed itself outlives its parent; a starting one may have no child yet.
        for pid in (*inner, self._process.pid):
            kill(pid)
        for pid in inner:
            await gone(pid)
        return await self.wait()


def shared_address() -> tuple[str, ...]:
    """The command prefix of a slurmd on loopback: its port tells it from others."""
    return _POD


def own_address(name: str, *, bridge: Bridge, world: World) -> tuple[str, ...]:
    """The command prefix of a slurmd with its own network namespace and host name."""
    link, address = bridge.next_port()
    world.name(name, address=address.partition("/")[0])
    script = ("sh", "-e", "-c", _OWN_ADDRESS, "pod", str(os.getpid()), link, bridge.name, address, name)
    return ("unshare", "--net", "--uts", *script, *_POD)


def _offspring(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _text(task).split()):
            yield child
            yield from _offspring(child)


def _is_step(pid: int) -> bool:
    """By what slurmstepd calls itself: one that is waited for by nobody has no name left."""
    return _text(Path(f"/proc/{pid}/cmdline")).startswith("slurmstepd: [")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _listens(pid: int, *, port: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()
    except OSError:
        return False
    # local address is the second field, state the fourth: 0A is LISTEN.
    return any(fields[1].endswith(f":{port:04X}") and fields[3] == "0A" for fields in map(str.split, lines))
