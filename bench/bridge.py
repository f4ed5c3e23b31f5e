"""The bridge under test: any command, its process tree measured from outside."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from k8s_bridge.sandbox.slurm_real.network import free_port
from k8s_bridge.sandbox.slurm_real.process import MARKER, Process

OURS = (
    "{python} -m k8s_bridge.cli.main run --kubeconfig={kubeconfig} --namespace={namespace} --election=none"
    " --http={http} --log-format=json --allow-insecure-tls"
)
PLACEHOLDERS: Mapping[str, str] = {
    "{python}": "the interpreter that runs the bench",
    "{kubeconfig}": "file that leads to the API server",
    "{namespace}": "namespace with the WorkloadMixing, the LocalQueues and the JobSets",
    "{directory}": "folder of this run; the output goes to bridge.log in it",
    "{http}": "free loopback HOST:PORT for metrics and health, if the bridge wants one",
    "{slurm_url}": "base URL of slurmrestd",
    "{token_file}": "file with a token of root for slurmrestd",
}
_OPTIONS = "K8S_BRIDGE_"
"""Our bridge takes options from such variables too: those of this shell are not part of the run."""
_GRACE = 10.0
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the process tree uses. `rss_mib` is now; `cpu` in seconds, until now."""

    rss_mib: float
    cpu: float


class Bridge:
    """One process, started at construction."""

    def __init__(
        self, command: str, *, values: Mapping[str, str], directory: Path, commands: Path | None
    ) -> None:
        self.log = directory / "bridge.log"
        self.http = f"127.0.0.1:{free_port()}"
        argv = expand(command, values={**values, "{directory}": str(directory), "{http}": self.http})
        path = f"{commands}:{os.environ['PATH']}" if commands else os.environ["PATH"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OPTIONS)}
        env = {**kept, MARKER: str(directory), "PATH": path}
        self._process = Process.spawn("bridge", argv=argv, env=env, log=self.log)
        self._tree = psutil.Process(self._process.pid)

    def usage(self) -> Usage:
        """RuntimeError with its last words when it has ended."""
        if not self._process.alive:
            raise RuntimeError(f"the bridge has ended: {self.log.read_text(errors='replace')[-2000:]}")
        processes = [self._tree, *self._tree.children(recursive=True)]
        times = [process.cpu_times() for process in processes]
        return Usage(
            rss_mib=sum(process.memory_info().rss for process in processes) / _MIB,
            cpu=sum(time.user + time.system for time in times),
        )

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL."""
        await self._process.stop(grace=_GRACE)


def expand(command: str, *, values: Mapping[str, str]) -> list[str]:
    """The argv of a command line; ValueError for a placeholder that there is not."""
    filled = command
    known = {"{python}": sys.executable, "{http}": f"127.0.0.1:{free_port()}", **values}
    for name in PLACEHOLDERS:
        if name in filled:
            filled = filled.replace(name, shlex.quote(known[name]))
    argv = shlex.split(filled)
    strange = [word for word in argv if word.startswith("{") and word.endswith("}")]
    if strange:
        raise ValueError(f"unknown placeholder {strange[0]}; there are {' '.join(PLACEHOLDERS)}")
    return argv


async def eventually(condition: Callable[[], object], *, seconds: float, what: str) -> None:
    """Look every 50 ms; TimeoutError when it does not come true."""
    for _ in range(round(seconds / 0.05)):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise TimeoutError(f"not within {seconds:g} s: {what}")
