"""Asks slurmrestd for one job, by the connection that a WorkloadMixing describes."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import NoReturn, cast

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.cli.output import Exit, fail
from k8s_bridge.core.errors import BridgeError, Missing, Terminal
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.slurm.client import SlurmClient, TokenSource
from k8s_bridge.slurm.credentials import Credentials
from k8s_bridge.slurm.model import Job


def job_of(job_id: int, mixing: WorkloadMixing, *, token_file: Path | None) -> tuple[Job, ...]:
    """The record, or those of all components of a heterogeneous job.

    Ends the command when Slurm does not know the job, or cannot be asked.
    """
    try:
        return asyncio.run(_ask(job_id, mixing, token_file))
    except Missing:
        fail(
            f"Slurm at {mixing.spec.slurm_rest_url} knows no job {job_id}; `squeue` lists what it knows.",
            code=Exit.UNKNOWN_UNIT,
        )
    except BridgeError as error:
        fail(
            f"{mixing.spec.slurm_rest_url}: {error}.\n"
            "`k8s-bridge doctor` with the same --config and --token-file looks at what is wrong on the way.",
            code=Exit.FAILED,
        )


async def _ask(job_id: int, mixing: WorkloadMixing, token_file: Path | None) -> tuple[Job, ...]:
    credentials = Credentials(mixing, kube=cast("KubeClient", _NoCluster()), redactor=Redactor())
    try:
        if token_file is None:
            await credentials.refresh()
        token = credentials.token() if token_file is None else TokenSource.file(token_file)
        client = SlurmClient(await credentials.endpoint(), token=token)
        try:
            return await _whole(client, await client.job(job_id))
        finally:
            await client.close()
    finally:
        credentials.close()


async def _whole(client: SlurmClient, job: Job) -> tuple[Job, ...]:
    """Slurm gives the components of one job ids in a row, the first of which names the whole.

    A task of an array that has started has an id of its own; the array has the JobSets.
    """
    if job.het_job_id is None:
        return (job if job.unit_id == job.job_id else await client.job(job.unit_id),)
    found: list[Job] = []
    with contextlib.suppress(Missing):
        while (one := await client.job(job.het_job_id + len(found))).het_job_id == job.het_job_id:
            found.append(one)
    return tuple(found)


class _NoCluster:
    """Stands where the cluster is that this command does without."""

    async def get(self, kind: type[object], *, name: str, namespace: str) -> NoReturn:
        """Only files can be read here."""
        raise Terminal(
            f"{kind.__name__} {namespace}/{name} is in a cluster, which this command does not ask; "
            "give --token-file, and name certificates by files in a copy of the document",
            reason="NoCluster",
        )
