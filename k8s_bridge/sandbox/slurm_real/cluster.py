"""RealSlurm: munged, slurmctld and slurmrestd of one release in one directory, and slurmds on demand."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from k8s_bridge.sandbox import slurm_jwt
from k8s_bridge.sandbox.slurm_real import files
from k8s_bridge.sandbox.slurm_real import release as releases
from k8s_bridge.sandbox.slurm_real import slurmd as pods
from k8s_bridge.sandbox.slurm_real.config import Conf
from k8s_bridge.sandbox.slurm_real.daemons import Daemons
from k8s_bridge.sandbox.slurm_real.network import Bridge, free_port
from k8s_bridge.sandbox.slurm_real.process import end_marked
from k8s_bridge.sandbox.slurm_real.slurmd import SlurmdProcess
from k8s_bridge.sandbox.slurm_real.world import INSIDE, World

_REST_TIMEOUT = 20.0
_DAY = 86_400
_LOOPBACK = "127.0.0.1"


class RealSlurm:
    """A private cluster. Make it with `start`; `stop` ends everything that was started."""

    def __init__(
        self,
        release: releases.Release,
        *,
        directory: Path,
        partitions: Sequence[str],
        extra: str,
        address: str = "",
    ) -> None:
        self.release = release
        self.world = World(directory, root=release.root)
        self.token_file = directory / "token"
        self._bridge = None if release.shares_address else Bridge(directory)
        self._rest = f"{address or _LOOPBACK}:{free_port()}"
        self._conf = Conf(
            inside=INSIDE,
            address=address or (self._bridge.address if self._bridge else _LOOPBACK),
            controller_port=free_port(),
            slurmd_port=free_port(),
            partitions=partitions,
            extra=extra,
        )
        self._daemons = Daemons(self.world, release=release)
        self._slurmds: list[SlurmdProcess] = []

    @classmethod
    async def start(
        cls,
        release: str,
        directory: Path,
        *,
        partitions: Sequence[str] = ("all",),
        extra_conf: str = "",
        address: str = "",
    ) -> RealSlurm:
        """A new, empty cluster in `directory`; what an earlier run left running there is ended first.

        Lines of `extra_conf` replace ours in slurm.conf. `address` is where slurmctld and slurmrestd listen
        when slurmds and bridges are elsewhere. Raises RuntimeError when it does not come up.
        """
        chosen = releases.RELEASES[release]
        await asyncio.to_thread(releases.prepare, chosen)
        place = await asyncio.to_thread(directory.resolve)
        cluster = cls(chosen, directory=place, partitions=partitions, extra=extra_conf, address=address)
        try:
            await cluster._up()
        except BaseException:
            await cluster.stop()
            raise
        return cluster

    @property
    def rest_url(self) -> str:
        """Base URL of slurmrestd."""
        return f"http://{self._rest}"

    @property
    def token(self) -> str:
        """A token of root, valid for a day."""
        return self.token_file.read_text()

    def mint(self, user: str, *, lifetime: int = _DAY) -> str:
        """A token for another user; `lifetime` in seconds, negative for one that has expired."""
        key = (self.world.directory / files.JWT_KEY).read_bytes()
        return slurm_jwt.mint(key, user=user, issued=int(time.time()), lifetime=lifetime)

    async def sbatch(self, *args: str, script: str = "", user: str = "root") -> int:
        """Submit by the real sbatch, `script` on its standard input; the job id. Raises CommandFailed."""
        out = await self.world.run("sbatch", "--parsable", *args, user=user, stdin=script)
        return int(out.split(";")[0])

    async def squeue(self, *args: str) -> str:
        """The output of squeue, without a header."""
        return await self.world.run("squeue", "--noheader", *args)

    async def scontrol(self, *args: str, user: str = "root") -> str:
        """The output of scontrol. Raises CommandFailed."""
        return await self.world.run("scontrol", *args, user=user)

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON that slurmrestd answers to GET /slurm/VERSION/`path`, VERSION being its newest."""
        headers = {"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": self.token}
        async with httpx.AsyncClient(
            base_url=self.rest_url, headers=headers, timeout=_REST_TIMEOUT
        ) as client:
            answer = await client.get(f"/slurm/{self.release.api_version}/{path}")
        return dict(answer.json())

    def slurmd(self, name: str, conf: str, *, options: Sequence[str] = ()) -> SlurmdProcess:
        """Start a slurmd that registers as node `name`, with `--conf` such as "CPUs=2 Features=a".

        `options` are more of slurmd's own, such as -b.
        """
        port = self._conf.slurmd_port
        if self._bridge:
            prefix = pods.own_address(name, bridge=self._bridge, world=self.world)
        else:
            prefix, port = pods.shared_address(), free_port()
            conf = f"Port={port} {conf}"
        argv = (*prefix, self.world.enter, "slurmd", "-D", "-Z", *options, "-N", name, "--conf", conf)
        process = self._daemons.spawn(f"slurmd.{name}", argv=argv)
        slurmd = SlurmdProcess(name, process=process, port=port)
        self._slurmds.append(slurmd)
        return slurmd

    async def restart_controller(self, *, clean: bool = False) -> None:
        """Stop slurmctld and start it again; `clean` forgets jobs and nodes, as `slurmctld -c` does."""
        await self.stop_controller()
        await self.start_controller(clean=clean)

    async def stop_controller(self) -> None:
        """Stop slurmctld only: slurmrestd stays, and answers that slurmctld is away."""
        await self._daemons.stop("slurmctld")

    async def start_controller(self, *, clean: bool = False) -> None:
        """Start slurmctld and wait until it answers."""
        self._daemons.start_controller(options=("-c",) if clean else ())
        await self._daemons.until(self._answers)

    async def reset(self) -> None:
        """End all slurmds and let slurmctld forget everything: as good as a new cluster, and sooner there."""
        await asyncio.gather(*(process.kill() for process in self._slurmds))
        self._slurmds.clear()
        await self.restart_controller(clean=True)

    async def restart_rest(self) -> None:
        """Stop slurmrestd and start it again at the same URL."""
        await self._daemons.stop("slurmrestd")
        self._daemons.start_rest(listen=self._rest)
        await self._daemons.until(self._answers)

    async def stop(self) -> None:
        """End everything; the directory stays, for its logs."""
        await asyncio.gather(*(process.kill() for process in self._slurmds))
        await self._daemons.stop_all()
        await end_marked(self.world.directory)
        if self._bridge:
            self._bridge.delete()

    async def _up(self) -> None:
        await end_marked(self.world.directory)
        if self._bridge:
            self._bridge.create()
        files.forget(self.world.directory)
        self.world.create()
        self.world.name(socket.gethostname(), address=self._conf.address)
        files.write(self.world.directory, conf=self._conf, release=self.release)
        files.write_secret(self.token_file, data=self.mint("root").encode())
        await self._daemons.start_munged()
        self._daemons.start_rest(listen=self._rest)
        await self.start_controller()

    async def _answers(self) -> bool:
        try:
            (ping,) = (await self.get("ping"))["pings"]
        except (httpx.TransportError, KeyError, ValueError):
            return False
        return "UP" in (ping.get("pinged"), ping.get("ping"))
