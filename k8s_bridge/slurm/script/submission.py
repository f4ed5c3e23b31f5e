"""A script, the environment and sbatch's own arguments, as the jobs that would be submitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from k8s_bridge.slurm.layout.tres import requested_nodes
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.script import lines
from k8s_bridge.slurm.script.demand import demand_of
from k8s_bridge.slurm.script.errors import ScriptError
from k8s_bridge.slurm.script.getopt import Typed, parse
from k8s_bridge.slurm.script.lines import Word
from k8s_bridge.slurm.script.record import Identity, job_of, received
from k8s_bridge.slurm.script.rules import settle
from k8s_bridge.slurm.script.settings import Given, Origin, Settings
from k8s_bridge.slurm.script.table import BY_NAME
from k8s_bridge.slurm.script.tres import agree, tres_of

_HOST_FILE = "SLURM_HOSTFILE"
_COMMAND_LINE = "command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component of a het job, or all of a plain one: its record and what led to it."""

    job: Job
    given: tuple[tuple[Given, bool], ...]
    """The options in the order in which they were read, and whether each is still in force."""


def read(
    script: str, *, environment: Mapping[str, str], arguments: Sequence[str], identity: Identity
) -> tuple[Component, ...]:
    """The components that `sbatch ARGUMENTS script` submits. ScriptError when it would not.

    `arguments` are sbatch's options without the script's name.
    """
    lines.check_shape(script)
    parts = lines.components(script)
    typed = _commands(arguments)
    settings = Settings()
    settings.apply_environment({key: environment[key] for key in _EARLY if key in environment})
    found: list[Component] = []
    for index in range(max(len(parts), len(typed))):
        settings.next_component()
        words = parts[index] if index < len(parts) else ()
        command = typed[min(index, len(typed) - 1)]
        own = replace(identity, job_id=identity.job_id + index)
        found.append(_component(settings, words, environment=environment, command=command, identity=own))
        if settings.text("hint"):  # sbatch leaves it in its environment, where the next component finds it
            environment = {**environment, _HINT: settings.text("hint")}
    _check_foreign(script, settings)
    return _joined(found, identity=identity)


_HINT = "SLURM_HINT"
_EARLY = ("SBATCH_IGNORE_PBS",)


def _component(
    settings: Settings,
    words: Sequence[Word],
    *,
    environment: Mapping[str, str],
    command: Sequence[Word],
    identity: Identity,
) -> Component:
    _apply(settings, words, says="is no option; values with blanks need quotes")
    settings.apply_environment(environment)
    _apply(settings, command, says="is no option of sbatch; the script is named before `--`")
    _apply_host_file(settings, environment)
    settle(settings)
    tres = tres_of(settings)
    demand = received(agree(demand_of(settings), tres), tres)
    job = job_of(settings, demand=demand, tres=tres, identity=identity)
    return Component(job=job, given=tuple((given, settings.in_force(given)) for given in settings.given))


def _apply(settings: Settings, words: Sequence[Word], *, says: str) -> None:
    options, rest = parse(words)
    for typed in options:
        settings.apply(typed, Origin.TYPED)
    if rest:
        raise ScriptError(f"{rest[0].text!r} {says}", where=rest[0].where)


def _apply_host_file(settings: Settings, environment: Mapping[str, str]) -> None:
    """A file with node names counts where no nodes are named."""
    path = environment.get(_HOST_FILE)
    if path and not settings.text("nodelist") and not settings.text("nodefile"):
        typed = Typed(option=BY_NAME["nodefile"], name="nodefile", value=path, where=_HOST_FILE)
        settings.apply(typed, Origin.VARIABLE)


def _commands(arguments: Sequence[str]) -> list[tuple[Word, ...]]:
    """The words of the command line, by component: `:` stands between them."""
    found: list[list[Word]] = [[]]
    for text in arguments:
        if text == ":":
            found.append([])
        else:
            found[-1].append(Word(text, _COMMAND_LINE))
    return [tuple(words) for words in found]


def _check_foreign(script: str, settings: Settings) -> None:
    where = lines.foreign(script)
    if where and not settings.has("ignore_pbs"):
        raise ScriptError(
            "sbatch would translate this line for another batch system, which is not done here; "
            "write #SBATCH lines, or give --ignore-pbs",
            where=where,
        )


def _joined(found: list[Component], *, identity: Identity) -> tuple[Component, ...]:
    if len(found) == 1:
        return tuple(found)
    if not all(requested_nodes(component.job.tres_request) for component in found):
        raise ScriptError("--nodes=0 cannot be asked for by a component of a het job")
    if any(component.job.array_task_string for component in found):
        raise ScriptError(
            "--array cannot be asked for by a component of a het job; submit one job for each task"
        )
    return tuple(
        replace(
            component,
            job=msgspec.structs.replace(component.job, het_job_id=identity.job_id, het_job_offset=offset),
        )
        for offset, component in enumerate(found)
    )
