"""munged, slurmctld and slurmrestd of one cluster: their command lines, and when each of them is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from k8s_bridge.sandbox.slurm_real.process import MARKER, Process
from k8s_bridge.sandbox.slurm_real.release import Release
from k8s_bridge.sandbox.slurm_real.world import INSIDE, PATH, World

_START_TIMEOUT = 20.0
_STOP_GRACE = 5.0
_POLL = 0.02
_LAST_WORDS = 2_000
_REST_IDENTITY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
# One malloc arena: glibc's many make slurmrestd grow by gigabytes under long listings.
_REST_ENVIRONMENT = ("env", "MALLOC_ARENA_MAX=1", "SLURM_JWT=daemon", "SLURMRESTD_DEBUG=3")


class Daemons:
    """The daemons that run now, by name."""

    def __init__(self, world: World, *, release: Release) -> None:
        self._world = world
        self._release = release
        self._running: dict[str, Process] = {}

    async def start_munged(self) -> None:
        """Start munged; returns when its socket is there."""
        folder = f"{INSIDE}/munge"
        files = [f"--{kind}-file={folder}/munged.{kind}" for kind in ("pid", "log", "seed")]
        key = f"--key-file={INSIDE}/etc/munge.key"
        self._start("munged", "munged", "--foreground", "--force", key, f"--socket={folder}/socket", *files)
        await self.until(self._munge_ready)

    def start_controller(self, *, options: Sequence[str] = ()) -> None:
        """Start slurmctld; it answers a moment later."""
        self._start("slurmctld", "slurmctld", "-D", *options)

    def start_rest(self, *, listen: str) -> None:
        """Start slurmrestd at `host:port`; it answers a moment later."""
        command = ("slurmrestd", "-s", self._release.rest_plugin, "-a", "rest_auth/jwt")
        self._start("slurmrestd", *_REST_IDENTITY, *_REST_ENVIRONMENT, *command, listen)

    def spawn(self, name: str, *, argv: Sequence[str]) -> Process:
        """Start any program as a part of this cluster."""
        env = {"PATH": PATH, MARKER: str(self._world.directory)}
        return Process.spawn(name, argv=argv, env=env, log=self._world.log(name))

    async def until(self, ready: Callable[[], Awaitable[bool]]) -> None:
        """Wait for `ready`; RuntimeError with the daemon's last words when one ends, or after 20 s."""
        deadline = time.monotonic() + _START_TIMEOUT
        while not await ready():
            if time.monotonic() > deadline or not all(process.alive for process in self._running.values()):
                raise RuntimeError(f"Slurm {self._release.name} does not come up\n{self._last_words()}")
            await asyncio.sleep(_POLL)

    async def stop(self, name: str) -> None:
        """Stop one daemon, if it runs."""
        if process := self._running.pop(name, None):
            await process.stop(grace=_STOP_GRACE)

    async def stop_all(self) -> None:
        """Stop them, the last started first."""
        for name in reversed(tuple(self._running)):
            await self.stop(name)

    def _start(self, name: str, *argv: str) -> None:
        self._running[name] = self.spawn(name, argv=(self._world.enter, *argv))

    def _last_words(self) -> str:
        logs = {name: self._world.log(name).read_text(errors="replace") for name in self._running}
        return "\n".join(f"{name}: {text[-_LAST_WORDS:]}" for name, text in logs.items())

    async def _munge_ready(self) -> bool:
        return (self._world.directory / "munge/socket").exists()
