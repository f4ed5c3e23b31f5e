"""One Slurm, fake or real, as the tests speak to it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from k8s_bridge.sandbox.slurm_fake import FakeSlurm, Settings
from k8s_bridge.sandbox.slurm_real import RealSlurm

V = "/slurm/v0.0.42"
SMALL = "CPUs=4 RealMemory=4000 Features=nodes-for-1"


def number(value: int) -> dict[str, Any]:
    """A number that is set, as slurmrestd wraps it."""
    return {"set": True, "infinite": False, "number": value}


class World:
    """What the tests may do to a Slurm, whichever it is."""

    def __init__(self, slurm: FakeSlurm | RealSlurm) -> None:
        self.slurm = slurm
        self._slurmds: dict[str, Any] = {}
        self._ids = itertools.count(1)
        self.http = httpx.AsyncClient(base_url=slurm.rest_url, headers=self.identity("root"), timeout=30)

    @property
    def real(self) -> bool:
        return isinstance(self.slurm, RealSlurm)

    def identity(self, user: str) -> dict[str, str]:
        return {"X-SLURM-USER-TOKEN": self.slurm.mint(user), "X-SLURM-USER-NAME": user}

    async def get(self, path: str) -> dict[str, Any]:
        return (await self.http.get(f"{V}/{path}")).json()

    async def post(self, path: str, body: Any, *, user: str = "root") -> tuple[int, dict[str, Any]]:
        answer = await self.http.post(f"{V}/{path}", json=body, headers=self.identity(user))
        return answer.status_code, answer.json()

    async def delete(self, path: str) -> tuple[int, dict[str, Any]]:
        answer = await self.http.delete(f"{V}/{path}")
        return answer.status_code, answer.json()

    async def submit(self, script: str = "sleep 600", *, user: str = "root", **options: Any) -> int:
        status, answer = await self.try_submit(script, user=user, **options)
        assert status == 200, answer["errors"]
        return answer["job_id"]

    async def try_submit(
        self, script: str = "sleep 600", *, user: str = "root", **options: Any
    ) -> tuple[int, dict[str, Any]]:
        job = {
            "name": "t",
            "hold": True,
            "current_working_directory": "/tmp",
            "standard_output": "/dev/null",
            "environment": ["PATH=/bin:/usr/bin"],
            **options,
        }
        return await self.post("job/submit", {"script": f"#!/bin/bash\n{script}\n", "job": job}, user=user)

    async def job(self, job_id: int) -> dict[str, Any]:
        (job,) = (await self.get(f"job/{job_id}"))["jobs"]
        return job

    async def node(self, name: str) -> dict[str, Any]:
        (node,) = (await self.get(f"node/{name}"))["nodes"]
        return node

    async def update(self, job_id: int, *, user: str = "root", **options: Any) -> tuple[int, list[int]]:
        status, answer = await self.post(f"job/{job_id}", options, user=user)
        return status, [error["error_number"] for error in answer["errors"]]

    async def pin_and_release(self, job_id: int, feature: str) -> None:
        assert await self.update(job_id, constraints=feature) == (200, [])
        assert await self.update(job_id, hold=False) == (200, [])

    async def add_node(self, name: str, conf: str) -> str:
        if isinstance(self.slurm, RealSlurm):
            self._slurmds[name] = self.slurm.slurmd(name, conf)
        else:
            self.slurm.register_node(name, conf)
        await self.node_becomes(name, "IDLE")
        return name

    async def lose_node(self, name: str) -> None:
        if isinstance(self.slurm, RealSlurm):
            await self._slurmds.pop(name).kill()
        else:
            self.slurm.lose_node(name)

    async def restart(self, *, clean: bool = False) -> None:
        if isinstance(self.slurm, RealSlurm):
            await self.slurm.restart_controller(clean=clean)
        else:
            self.slurm.restart(clean=clean)

    async def stop_controller(self) -> None:
        if isinstance(self.slurm, RealSlurm):
            await self.slurm.stop_controller()
        else:
            self.slurm.stop_controller()

    async def node_becomes(self, name: str, state: str) -> None:
        async def reached() -> bool:
            nodes = (await self.get(f"node/{name}")).get("nodes", [])
            return any(state in node["state"] for node in nodes)

        await self.until(reached)

    async def job_becomes(self, job_id: int, state: str) -> dict[str, Any]:
        async def reached() -> bool:
            return state in (await self.job(job_id))["job_state"]

        await self.until(reached)
        return await self.job(job_id)

    async def job_waits_for(self, job_id: int, reason: str) -> dict[str, Any]:
        async def reached() -> bool:
            return (await self.job(job_id))["state_reason"] == reason

        await self.until(reached)
        return await self.job(job_id)

    async def until(self, condition: Callable[[], Awaitable[bool]], *, seconds: float = 40) -> None:
        async with asyncio.timeout(seconds):
            while not await condition():  # noqa: ASYNC110 - a daemon sets no event
                await asyncio.sleep(0.05 if self.real else 0.01)


async def fake() -> FakeSlurm:
    """Like the real one of these tests, but what takes real daemons half a minute takes no time."""
    settings = Settings(away_answer=0.05, recovery=0.2, min_job_age=5.0)
    return await FakeSlurm.start(settings)
