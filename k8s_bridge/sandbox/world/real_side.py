"""A real Slurm cluster as a world's cluster. Its log tells starts and when to look, slurmrestd the rest."""

from __future__ import annotations

import asyncio
import contextlib
import re
from pathlib import Path
from typing import Any

import httpx

from k8s_bridge.runtime.waiting import wait
from k8s_bridge.sandbox.controllers.kubelet_runtime import PodRuntime
from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm
from k8s_bridge.sandbox.slurmd_runtime import RealSlurmdRuntime
from k8s_bridge.sandbox.world.config import PARTITIONS, WorldConfig
from k8s_bridge.sandbox.world.pulse import Pulse
from k8s_bridge.sandbox.world.real_records import job_fact, node_fact
from k8s_bridge.sandbox.world.requests import JobRequest
from k8s_bridge.sandbox.world.slurm import SlurmFacts

_LOOK_LOG = 0.05
_LOOK_REST = 0.4
_STARTED = re.compile(
    r"(?:Allocate JobId=(?P<job>\d+)\S* NodeList=(?P<nodes>\S+))"
    r"|(?:Started JobId=(?P<job2>\d+)\S* in \S+ on (?P<nodes2>\S+))"
)
_MOVED = re.compile(r"JobId=\d+ done|requeue job JobId=|select_p_reconfigure")
"""A job ended or was requeued, a node came or went: worth a look before the next is due."""
_UNREADABLE = (httpx.HTTPError, KeyError, ValueError)


class RealSide:
    """RealSlurm behind the interface that it shares with the fake."""

    def __init__(self, slurm: RealSlurm, *, pulse: Pulse) -> None:
        self.slurm = slurm
        self.facts = SlurmFacts(pulse)
        self._client = httpx.AsyncClient(base_url=slurm.rest_url, timeout=10.0, verify=False)  # noqa: S501 - plain HTTP on loopback
        self._log_read = 0
        self._moved = asyncio.Event()
        self._reading = asyncio.Lock()
        self._tasks = [asyncio.create_task(self._follow_log()), asyncio.create_task(self._follow_rest())]

    @classmethod
    async def start(cls, config: WorldConfig, pulse: Pulse) -> RealSide:
        """A running, empty cluster with the managed partitions. RuntimeError when it does not come up."""
        slurm = await RealSlurm.start(
            config.release,
            config.directory / "slurm",
            partitions=PARTITIONS,
            extra_conf=config.slurm_conf,
        )
        return cls(slurm, pulse=pulse)

    @property
    def rest_url(self) -> str:
        """Base URL of slurmrestd."""
        return self.slurm.rest_url

    @property
    def token_file(self) -> Path:
        """Token of root."""
        return self.slurm.token_file

    @property
    def commands(self) -> Path | None:
        """Wrappers of the cluster's own commands."""
        return self.slurm.world.directory / "bin"

    def runtime(self) -> PodRuntime:
        """Pods that are slurmd processes."""
        return RealSlurmdRuntime(self.slurm)

    async def submit(self, request: JobRequest) -> int:
        """Submit by sbatch; the job's id."""
        return await self.slurm.sbatch(*request.arguments(), script=request.script)

    async def cancel(self, job_id: int, task: int | None = None) -> None:
        """Cancel by scancel."""
        await self.slurm.world.run("scancel", _named(job_id, task))

    async def hold(self, job_id: int) -> None:
        """Hold by scontrol, which complains of the tasks of an array that are over."""
        with contextlib.suppress(CommandFailed):
            await self.slurm.scontrol("hold", str(job_id))

    async def release(self, job_id: int) -> None:
        """Release by scontrol, which complains while no node could run the job."""
        with contextlib.suppress(CommandFailed):
            await self.slurm.scontrol("release", str(job_id))

    async def requeue(self, job_id: int, task: int | None = None) -> None:
        """Requeue by scontrol."""
        await self.slurm.scontrol("requeue", _named(job_id, task))

    async def refresh(self) -> None:
        """Read jobs and nodes now; what cannot be read now is read the next time."""
        async with self._reading:  # no answer that is older than this call is noted after its own
            await self._read()

    async def _read(self) -> None:
        try:
            jobs, nodes = await self._get("jobs/"), await self._get("nodes/")
            facts = [job_fact(raw) for raw in jobs.get("jobs", ())]
            there = [node_fact(raw) for raw in nodes.get("nodes", ())]
        except _UNREADABLE:
            return
        if jobs.get("errors") or nodes.get("errors"):
            return
        for fact in facts:
            self.facts.saw_job(fact)
        self.facts.saw_nodes(there)

    async def stop_controller(self) -> None:
        """Stop slurmctld."""
        await self.slurm.stop_controller()

    async def start_controller(self) -> None:
        """Start it again."""
        await self.slurm.start_controller()

    async def restart_rest(self) -> None:
        """Stop and start slurmrestd."""
        await self.slurm.restart_rest()

    async def stop(self) -> None:
        """End everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()
        await self.slurm.stop()

    async def _get(self, path: str) -> dict[str, Any]:
        headers = {"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": self.slurm.mint("root")}
        answer = await self._client.get(f"/slurm/{self.slurm.release.api_version}/{path}", headers=headers)
        return dict(answer.json())

    async def _follow_rest(self) -> None:
        while True:
            await self.refresh()
            await wait(self._moved, seconds=_LOOK_REST)

    async def _follow_log(self) -> None:
        while True:
            new = self._new_lines()
            for match in _STARTED.finditer(new):
                names = await self._names(match["nodes"] or match["nodes2"])
                self.facts.saw_start(int(match["job"] or match["job2"]), names)
            if _MOVED.search(new):
                self._moved.set()
            await asyncio.sleep(_LOOK_LOG)

    def _new_lines(self) -> str:
        with self.slurm.world.log("slurmctld").open("rb") as log:
            log.seek(self._log_read)
            complete, newline, _ = log.read().rpartition(b"\n")
        self._log_read += len(complete) + len(newline)
        return complete.decode(errors="replace")

    async def _names(self, listed: str) -> tuple[str, ...]:
        if "[" not in listed:
            return tuple(listed.split(","))
        try:
            return tuple((await self.slurm.scontrol("show", "hostnames", listed)).split())
        except CommandFailed:
            return (listed,)


def _named(job_id: int, task: int | None) -> str:
    return str(job_id) if task is None else f"{job_id}_{task}"
