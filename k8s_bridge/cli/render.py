"""`k8s-bridge render FILE|JOB`: the JobSet that a script, or a job of Slurm, would become."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import yaml

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.cli.documents import slurm_mixing_of
from k8s_bridge.cli.output import EXIT_HELP, Exit, Form, emit, fail, output_option
from k8s_bridge.cli.render_job import job_of
from k8s_bridge.cli.render_table import print_story
from k8s_bridge.core.errors import Terminal
from k8s_bridge.slurm import het
from k8s_bridge.slurm.layout.types import Layout, Refusal
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.named import job_id_in
from k8s_bridge.slurm.planner import Planner
from k8s_bridge.slurm.policy import Policies, Route
from k8s_bridge.slurm.script import Component, Identity, ScriptError, effects, given_of, read

_STDIN = "-"
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=EXIT_HELP, short_help="The JobSet that a batch script or a job would become.")
@click.argument("target", metavar="FILE|JOB")
@click.argument("arguments", nargs=-1, metavar="[-- SBATCH OPTIONS]")
@click.option("--config", type=_FILE, required=True, help="File with the WorkloadMixing.")
@click.option(
    "--job-id",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The id that names of a script's JobSet are made with.",
)
@click.option("--token-file", type=_FILE, help="Token for JOB, in place of the WorkloadMixing's.")
@click.option("--explain", is_flag=True, help="Only what became of each option; no manifest.")
@output_option
def render(  # noqa: PLR0913 - one for each option
    *,
    target: str,
    arguments: tuple[str, ...],
    config: Path,
    job_id: int,
    token_file: Path | None,
    explain: bool,
    form: str | None,
) -> None:
    """Print the JobSet that a batch script (FILE, or - for stdin) would become; no cluster is asked.

    The script, SBATCH_* variables and options after `--` are read as sbatch reads them. JOB is the id of a
    job that the slurmrestd of the WorkloadMixing knows. What became of each option is told on stderr;
    a job that would be refused ends it with exit code 1.
    """
    mixing = slurm_mixing_of(config)
    if Path(target).exists() or target == _STDIN:
        components = _components(target, arguments, mixing=mixing, job_id=job_id)
    else:
        components = _recorded(target, arguments, mixing=mixing, token_file=token_file)
    plans = _plans(components, mixing)
    for plan in plans:
        story = effects(plan.component, plan.planned)
        print_story(story, title=plan.title, planned=plan.planned, route=plan.route)
    refused = next((plan.planned for plan in plans if isinstance(plan.planned, Refusal)), None)
    if refused is not None:
        fail(f"refused for {refused.option}: {refused.text}", code=Exit.FAILED)
    if not explain:
        _print([plan.manifest for plan in plans if plan.manifest], form or Form.YAML)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    component: Component
    route: Route
    planned: Layout | Refusal
    manifest: dict[str, Any]
    """{} when it was refused, or is a later component of a het job."""

    @property
    def title(self) -> str:
        """The job, by id and name."""
        return f"job {self.component.job.job_id} ({self.component.job.name})"


def _components(
    target: str, arguments: Sequence[str], *, mixing: WorkloadMixing, job_id: int
) -> tuple[Component, ...]:
    identity = Identity(
        job_id=job_id,
        user_name=getpass.getuser(),
        user_id=os.getuid(),
        name="sbatch" if target == _STDIN else Path(target).name,
        partition=_only_partition(mixing),
    )
    try:
        return read(_text(target), environment=os.environ, arguments=arguments, identity=identity)
    except ScriptError as error:
        fail(f"{target}: {error}", code=Exit.USAGE)


def _text(target: str) -> str:
    """Bytes that are no text stay what they are; only options matter here."""
    try:
        raw = sys.stdin.buffer.read() if target == _STDIN else Path(target).read_bytes()
    except OSError as error:
        fail(f"{target} cannot be read: {error}", code=Exit.USAGE)
    return raw.decode(errors="surrogateescape")


def _only_partition(mixing: WorkloadMixing) -> str:
    """The partition of a script that names none; "" when it could be more than one."""
    names = [mapping.partition_name for mapping in mixing.spec.partition_mappings]
    return names[0] if len(names) == 1 else ""


def _recorded(
    target: str, arguments: Sequence[str], *, mixing: WorkloadMixing, token_file: Path | None
) -> tuple[Component, ...]:
    job_id = job_id_in(target)
    if job_id is None:
        fail(f"there is no file {target}, and it is no job id.", code=Exit.USAGE)
    if arguments:
        fail("sbatch options go with a script; a job has its own.", code=Exit.USAGE)
    jobs = job_of(job_id, mixing, token_file=token_file)
    return tuple(Component(job=job, given=given_of(job)) for job in jobs)


def _plans(components: Sequence[Component], mixing: WorkloadMixing) -> list[_Plan]:
    policies = Policies(mixing)
    try:
        planner = Planner(policies)
        plans = [_plan(one, _route(one.job, policies), planner) for one in components]
        return _joined(plans, planner) if len(plans) > 1 else plans
    except Terminal as error:
        fail(str(error), code=Exit.USAGE)


def _joined(plans: list[_Plan], planner: Planner) -> list[_Plan]:
    """The components of a het job, which has one JobSet; it is shown with the first."""
    jobs, route = [plan.component.job for plan in plans], plans[0].route
    found, _ = het.joined(jobs, [planner.plan(job, route) for job in jobs])
    if isinstance(found, Refusal):
        return [replace(plan, planned=found, manifest={}) for plan in plans]
    manifest = planner.render_components(jobs, route)
    return [replace(plan, manifest={} if index else manifest) for index, plan in enumerate(plans)]


def _plan(component: Component, route: Route, planner: Planner) -> _Plan:
    planned, _ = planner.plan(component.job, route)
    slot = None if component.job.array_job_id is None else 0
    manifest = planner.render(component.job, route, slot=slot) if isinstance(planned, Layout) else {}
    return _Plan(component=component, route=route, planned=planned, manifest=manifest)


def _route(job: Job, policies: Policies) -> Route:
    route = policies.route(job)
    if route is None:
        managed = ", ".join(m.partition_name for m in policies.mixing.spec.partition_mappings)
        asked = f"partition {job.partition} is" if job.partition else "Slurm's default partition may be"
        fail(
            f"{asked} not among the partitionMappings ({managed}), and its jobs are left to Slurm; "
            "choose one with -p.",
            code=Exit.USAGE,
        )
    return route


def _print(manifests: Sequence[dict[str, Any]], form: str) -> None:
    if len(manifests) == 1:
        emit(manifests[0], form)
    elif form == Form.JSON:
        emit({"apiVersion": "v1", "kind": "List", "items": list(manifests)}, form)
    else:
        click.echo(yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True), nl=False)
