"""The real bridge as a process of its own, which can be killed, frozen and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import httpx

from k8s_bridge.sandbox.slurm_real.network import free_port
from k8s_bridge.sandbox.slurm_real.process import MARKER, Process, kill
from k8s_bridge.sandbox.world.config import NAMESPACE

_UP_WITHIN = 30.0
_END_WITHIN = 10.0
_POLL = 0.05
_LAST_WORDS = 3_000
_OPTIONS_BY_ENVIRONMENT = "K8S_BRIDGE_"


class BridgeProcess:
    """`k8s-bridge run` against one world. Each start appends to the same log.

    `bridge` is its first argument: slurm or ray. `commands`: folder with the scontrol of the world's Slurm,
    which releases without REST for nodes need.
    """

    def __init__(  # noqa: PLR0913 - what a process is told
        self,
        *,
        directory: Path,
        kubeconfig: Path,
        commands: Path | None,
        name: str,
        election: str,
        bridge: str = "slurm",
    ) -> None:
        self.log = directory / f"{name}.log"
        self.address = f"http://127.0.0.1:{free_port()}"
        self._directory = directory
        self._commands = commands
        self._name = name
        self._process: Process | None = None
        self._client = httpx.AsyncClient(base_url=self.address, timeout=5.0, verify=False)  # noqa: S501 - plain HTTP on loopback
        self._argv = (
            sys.executable, "-m", "k8s_bridge.cli.main", "run", bridge,
            f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}", f"--election={election}",
            f"--http={self.address.removeprefix('http://')}", "--log-format=json", "--allow-insecure-tls",
        )  # fmt: skip

    @property
    def alive(self) -> bool:
        """Whether it runs (or is frozen)."""
        return self._process is not None and self._process.alive

    @property
    def pid(self) -> int:
        """Process id; RuntimeError when it does not run."""
        if self._process is None:
            raise RuntimeError(f"{self._name} does not run")
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it is ready. RuntimeError with its last words when it is not."""
        self._process = Process.spawn(self._name, argv=self._argv, env=self._environment(), log=self.log)
        for _ in range(round(_UP_WITHIN / _POLL)):
            if not self.alive:
                break
            if await self._is_ready():
                return
            await asyncio.sleep(_POLL)
        raise RuntimeError(f"the bridge does not come up, see {self.log}\n{self.last_words()}")

    async def kill(self) -> None:
        """SIGKILL: it gets no chance to say goodbye."""
        kill(self.pid)
        await self._ended()

    def freeze(self) -> None:
        """SIGSTOP."""
        kill(self.pid, number=signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        kill(self.pid, number=signal.SIGCONT)

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when that does not end it within 10 s."""
        if self._process is not None:
            self.thaw()
            await self._process.stop(grace=_END_WITHIN)
            self._process = None

    async def aclose(self) -> None:
        """Stop it for good."""
        await self.stop()
        await self._client.aclose()

    async def units(self) -> list[dict[str, Any]]:
        """The rows of GET /debug/units; [] when it does not answer."""
        try:
            answer = await self._client.get("/debug/units")
        except httpx.HTTPError:
            return []
        return list(answer.json()) if answer.is_success else []

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-_LAST_WORDS:] if self.log.exists() else ""

    async def _ended(self) -> None:
        if self._process is not None:
            await self._process.wait()
            self._process = None

    async def _is_ready(self) -> bool:
        try:
            return (await self._client.get("/readyz")).is_success
        except httpx.HTTPError:
            return False

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_OPTIONS_BY_ENVIRONMENT)}
        path = f"{self._commands}:{kept['PATH']}" if self._commands else kept["PATH"]
        return kept | {MARKER: str(self._directory), "PATH": path}
