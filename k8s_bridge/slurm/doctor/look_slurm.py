"""Looks at Slurm as one WorkloadMixing reaches it: by slurmrestd, and by scontrol where it is at hand."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.core.errors import BridgeError, Terminal
from k8s_bridge.kube.transport import KubeClient
from k8s_bridge.runtime.doctor.verdict import Hidden, Seen
from k8s_bridge.runtime.redact import Redactor
from k8s_bridge.slurm.client import SlurmClient, SlurmEndpoint, TokenSource
from k8s_bridge.slurm.credentials import Credentials
from k8s_bridge.slurm.doctor.conf import NotAConfiguration, parse
from k8s_bridge.slurm.doctor.sight import SlurmSight

_SCONTROL_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """How Slurm is looked at. `conf`: `scontrol show config` as given; `scontrol`: the command or ""."""

    token_file: Path | None = None
    conf: Mapping[str, str] | None = None
    scontrol: str = ""


async def look(client: KubeClient, mixing: WorkloadMixing, means: Means) -> SlurmSight:
    """Everything that the checks of Slurm need. Raises nothing: what went wrong is data."""
    sight = SlurmSight(mixing=mixing, now=time.time(), conf=means.conf)
    credentials = Credentials(mixing, kube=client, redactor=Redactor())
    try:
        token, endpoint = await _connection(credentials, means)
        sight = replace(sight, user=token.user, expires=token.expires_at)
    except BridgeError as error:
        return replace(sight, trouble={"credentials": _told(error)})
    else:
        if means.conf is None:
            sight = replace(sight, conf=await _scontrol(means.scontrol, token))
        return await _ask(endpoint, token, sight)
    finally:
        credentials.close()


async def _connection(credentials: Credentials, means: Means) -> tuple[TokenSource, SlurmEndpoint]:
    if means.token_file is not None:
        return TokenSource.file(means.token_file), await credentials.endpoint()
    await credentials.refresh()
    return credentials.token(), await credentials.endpoint()


async def _ask(endpoint: SlurmEndpoint, token: TokenSource, sight: SlurmSight) -> SlurmSight:
    slurm = SlurmClient(endpoint, token=token, may_write=lambda: False)
    step = "ping"
    try:
        sight = replace(sight, ping=await slurm.ping())
        step = "token"
        sight = replace(sight, partitions=await slurm.partitions())
        sight = replace(sight, now=time.time())
        return replace(sight, controller_time=float(await slurm.controller_time()))
    except BridgeError as error:
        return replace(sight, trouble={step: _told(error)})
    finally:
        await slurm.close()


def _told(error: BridgeError) -> tuple[str, str]:
    return (error.reason if isinstance(error, Terminal) else "Retry"), str(error)


async def _scontrol(command: str, token: TokenSource) -> Seen[Mapping[str, str]]:
    """slurm.conf by `scontrol show config`; None when there is no such command."""
    if not command:
        return None
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            "show",
            "config",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "SLURM_JWT": token.token()},
        )
    except OSError as error:
        return Hidden(f"{command} cannot be run: {error.strerror}")
    try:
        out, _ = await asyncio.wait_for(process.communicate(), _SCONTROL_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return Hidden(f"{command} did not end within {_SCONTROL_SECONDS:.0f} s")
    text = out.decode(errors="replace")
    try:
        return parse(text)
    except NotAConfiguration:
        return Hidden(f"{command} show config: {' '.join(text.split())[:200]}")
