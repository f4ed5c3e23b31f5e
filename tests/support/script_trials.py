"""Trials of scripts: what we read of one against the record of the job that the real sbatch makes of it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from k8s_bridge.sandbox.slurm_real import CommandFailed, RealSlurm
from k8s_bridge.slurm.client import SlurmClient, SlurmEndpoint, TokenSource
from k8s_bridge.slurm.layout import Exclusive, Layout, NodeShape, Refusal, plan
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.script import Identity, ScriptError, read

SHAPES = (None, NodeShape(cpus=4, memory=1000, gpus=4))
AT_A_TIME = 6
EVERYTHING = (
    "tasks",
    "cpus",
    "node_count",
    "max_nodes",
    "cpus_per_task",
    "tasks_per_node",
    "tasks_per_socket",
    "tasks_per_core",
    "tasks_per_tres",
    "min_cpus_per_node",
    "sockets_per_node",
    "cores_per_socket",
    "threads_per_core",
    "memory_per_cpu",
    "tres_per_job",
    "tres_per_node",
    "tres_per_socket",
    "tres_per_task",
    "cpus_per_tres",
    "memory_per_tres",
    "exclusive",
    "time_limit",
    "account",
    "wckey",
    "partition",
    "comment",
    "name",
    "features",
    "prefer",
    "licenses",
    "network",
    "container",
    "contiguous",
    "reboot",
    "requeue",
    "required_switches",
    "min_tmp_disk",
    "het_job_offset",
    "held",
    "reason",
    "user_name",
)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What sbatch is given."""

    arguments: Sequence[str] = ()
    script: str = "#!/bin/sh\nsleep 1\n"
    environment: Mapping[str, str] = field(default_factory=dict)


def options(text: str) -> Trial:
    """Options of the command line."""
    return Trial(arguments=tuple(shlex.split(text)))


def lines(text: str, *, arguments: str = "", **environment: str) -> Trial:
    """Lines after the shebang, with options and variables."""
    return Trial(
        script=f"#!/bin/sh\n{text}", arguments=tuple(shlex.split(arguments)), environment=environment
    )


class Judge:
    """Compares with a real slurmctld, over REST: `fields` of the record, and what is planned from it."""

    def __init__(self, slurm: RealSlurm, *, fields: Sequence[str] = EVERYTHING) -> None:
        self._slurm = slurm
        self._fields = fields
        self._client = SlurmClient(
            SlurmEndpoint(base_url=slurm.rest_url, user="root"),
            token=TokenSource(lambda: slurm.token, name="test"),
        )
        self.submitted = 0

    async def close(self) -> None:
        await self._client.close()

    async def complaints(self, trials: Iterable[Trial]) -> list[str]:
        turn = asyncio.Semaphore(AT_A_TIME)

        async def one(trial: Trial) -> str:
            async with turn:
                return await self._complaint(trial)

        found = await asyncio.gather(*(one(trial) for trial in trials))
        return [text for text in found if text]

    async def _complaint(self, trial: Trial) -> str:
        try:
            components = read(
                trial.script,
                environment=trial.environment,
                arguments=trial.arguments,
                identity=Identity(user_name="root", partition="all"),
            )
        except ScriptError as error:
            return await self._refused(trial, why=str(error))
        if any(given.typed.option is None for one in components for given, _ in one.given):
            return await self._refused(trial, why="an option that is not sbatch's own")
        try:
            first = await self._submit(trial)
        except CommandFailed as error:
            return f"{trial}: sbatch refuses: {error}"
        real = [await self._client.job(first + index) for index in range(len(components))]
        pairs = zip(components, real, strict=True)
        differences = [text for one, job in pairs if (text := _difference(one.job, job, self._fields))]
        return f"{trial}: {'; '.join(differences)}" if differences else ""

    async def _refused(self, trial: Trial, *, why: str) -> str:
        try:
            await self._submit(trial)
        except CommandFailed:
            return ""
        return f"{trial}: sbatch takes it, we say: {why}"

    async def _submit(self, trial: Trial) -> int:
        variables = [f"{name}={value}" for name, value in trial.environment.items()]
        argv = ("env", *variables, "sbatch", "--parsable", "--hold", *trial.arguments)
        out = await self._slurm.world.run(*argv, stdin=trial.script)
        self.submitted += 1
        return int(out.split(";")[0])


def _difference(ours: Job, real: Job, fields: Sequence[str]) -> str:
    """What the two records do not share; "" when they say the same."""
    found = [
        f"{name} {getattr(ours, name)!r}, really {getattr(real, name)!r}"
        for name in fields
        if (getattr(ours, name) or None) != (getattr(real, name) or None)
    ]
    for shape in SHAPES:
        planned = [_outcome(job, shape) for job in (ours, real)]
        if planned[0] != planned[1]:
            found.append(f"planned {planned[0]}, really {planned[1]}")
    return ", ".join(found)


def _outcome(job: Job, shape: NodeShape | None) -> Any:
    """The layout, or the option that is refused, without what depends on the job's id."""
    found = plan(job, node_shape=shape, exclusive=Exclusive.AS_ASKED)
    return found.option if isinstance(found, Refusal) else msgspec.to_builtins(found)


def is_layout(trial: Trial) -> bool:
    """Whether a trial gets capacity at all: a table of refusals alone would prove little."""
    try:
        (component,) = read(
            trial.script, environment=trial.environment, arguments=trial.arguments, identity=Identity()
        )
    except (ScriptError, ValueError):
        return False
    return isinstance(plan(component.job, node_shape=None, exclusive=Exclusive.AS_ASKED), Layout)
