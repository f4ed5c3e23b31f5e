"""Asks slurmctld about job ids that only Kubernetes or a node's feature speaks of.

A listing alone never shows that a job is gone: only slurmctld's own "invalid job id" does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from k8s_bridge.core.errors import BridgeError, Missing
from k8s_bridge.kube.store import Table
from k8s_bridge.slurm.client.port import SlurmReads
from k8s_bridge.slurm.model import Job

AT_A_TIME = 16


class Resolver:
    """`missing` is told of each id that Slurm does not know."""

    def __init__(self, client: SlurmReads, jobs: Table[Job], *, missing: Callable[[int], None]) -> None:
        self._client = client
        self._jobs = jobs
        self._missing = missing
        self._task: asyncio.Task[None] | None = None

    def resolve(self, job_ids: Iterable[int]) -> None:
        """Ask about these, unless the last questions are still under way."""
        wanted = sorted(job_ids)[:AT_A_TIME]
        if wanted and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._ask(wanted))

    async def _ask(self, job_ids: list[int]) -> None:
        await asyncio.gather(*(self._one(job_id) for job_id in job_ids))

    async def _one(self, job_id: int) -> None:
        try:
            self._jobs.upsert(await self._client.job(job_id))
        except Missing:
            self._missing(job_id)
        except BridgeError:
            return  # the next poll asks again
