"""`k8s-bridge doctor`: what is wrong in Kubernetes, Slurm and Ray, why it hurts, and the cure."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import click

from api.v1alpha1.workloadmixing import WorkloadMixing
from k8s_bridge.cli.cluster import cluster_options, server_of
from k8s_bridge.cli.completion import complete_mixings
from k8s_bridge.cli.doctor_table import print_results
from k8s_bridge.cli.documents import mixing_of
from k8s_bridge.cli.output import EXIT_HELP, Exit, emit, fail, output_option
from k8s_bridge.kube.apiserver import ApiServer
from k8s_bridge.ray import doctor as ray_doctor
from k8s_bridge.ray.doctor import Asked
from k8s_bridge.ray.doctor import Subject as RaySubject
from k8s_bridge.runtime.settings import LEASE_NAME
from k8s_bridge.slurm import doctor as doctors
from k8s_bridge.slurm.doctor import Means, Result, Subject, Verdict

_FILE = click.Path(path_type=Path, dir_okay=False)
_STDIN = "-"


class Side(StrEnum):
    """A bridge whose side is looked at."""

    SLURM = "slurm"
    RAY = "ray"


@click.command(epilog=EXIT_HELP, short_help="What is set wrongly, why it hurts, and the cure.")
@click.argument("side", type=click.Choice([side.value for side in Side]), required=False)
@cluster_options
@click.option(
    "--namespace", "-n", "namespaces", multiple=True, help="Look here; repeatable. Else the context's."
)
@click.option(
    "--workloadmixing",
    "names",
    metavar="namespace/name",
    multiple=True,
    shell_complete=complete_mixings,
    help="Only this; repeatable.",
)
@click.option("--config", "paths", type=_FILE, multiple=True, help="File with a WorkloadMixing; repeatable.")
@click.option("--token-file", type=_FILE, help="Token for Slurm, in place of the WorkloadMixing's.")
@click.option("--slurm-config", metavar="FILE", help="Output of `scontrol show config`; - is stdin.")
@click.option("--scontrol", default="scontrol", show_default=True, help="The command, where it is at hand.")
@click.option(
    "--service-account",
    "account",
    metavar="namespace/name",
    default="",
    help="Whose rights are looked at. Else the bridge's, where its Deployment is seen; else your own.",
)
@click.option(
    "--lease-name",
    "lease",
    envvar="K8S_BRIDGE_LEASE_NAME",
    show_envvar=True,
    default=LEASE_NAME,
    show_default=True,
    help="The Slurm bridge's lease, where its Deployment is not seen.",
)
@click.option("--all", "whole", is_flag=True, help="Show what is fine as well.")
@output_option
def doctor(  # noqa: PLR0913 - one for each option
    *,
    side: str | None,
    kubeconfig: str,
    context: str,
    namespaces: tuple[str, ...],
    names: tuple[str, ...],
    paths: tuple[Path, ...],
    token_file: Path | None,
    slurm_config: str | None,
    scontrol: str,
    account: str,
    lease: str,
    whole: bool,
    form: str | None,
) -> None:
    """Look at Kubernetes, Slurm and Ray for what is set wrongly; say why it hurts, and the cure.

    SIDE, slurm or ray, leaves the other out. Nothing is written. Exit code 5 when something is wrong; what is
    doubtful or cannot be seen is told, and is no failure. Run it in the bridge's pod to look with its eyes.
    """
    for name in (*names, *filter(None, (account,))):
        if name.count("/") != 1 or not all(name.split("/")):
            fail(f"{name!r} is not namespace/name; write for example hpc/main.", code=Exit.USAGE)
    server = server_of(kubeconfig, context=context)
    given = tuple(dict.fromkeys((*namespaces, *(name.partition("/")[0] for name in names))))
    subject = Subject(
        namespaces=given or (server.namespace,),
        only=names,
        files=tuple(_placed(mixing_of(path), server.namespace) for path in paths),
        account=account,
        lease=lease,
        within=bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and not kubeconfig,
        asked=Asked.ALONE if side == Side.SLURM else Asked.ALONG,
        means=Means(
            token_file=token_file,
            conf=_conf(slurm_config),
            scontrol=shutil.which(scontrol) or "",
        ),
    )
    results = asyncio.run(_examined(server, subject, side))
    _show(results, form, whole=whole)
    if any(result.verdict is Verdict.WRONG for result in results):
        raise SystemExit(Exit.UNWELL)


async def _examined(server: ApiServer, subject: Subject, side: str | None) -> list[Result]:
    """Both sides, or one: each result once, those about the same together."""
    told = [] if side == Side.RAY else await doctors.examine(server, subject)
    if side != Side.SLURM:
        to_ray = RaySubject(
            namespaces=subject.namespaces,
            only=subject.only,
            files=subject.files,
            account=subject.account if side == Side.RAY else "",
            within=subject.within,
            asked=Asked.ALONE if side == Side.RAY else Asked.ALONG,
        )
        told += await ray_doctor.examine(server, to_ray)
    order = {one.about: place for place, one in reversed([*enumerate(told)])}
    return sorted(dict.fromkeys(told), key=lambda one: order[one.about])


def _placed(mixing: WorkloadMixing, namespace: str) -> WorkloadMixing:
    """A file need not name the namespace."""
    if mixing.metadata.namespace:
        return mixing
    return mixing.model_copy(update={"metadata": mixing.metadata.model_copy(update={"namespace": namespace})})


def _conf(source: str | None) -> Mapping[str, str] | None:
    if source is None:
        return None
    try:
        text = sys.stdin.read() if source == _STDIN else Path(source).read_text(encoding="utf-8")
        return doctors.parse(text)
    except (OSError, UnicodeError) as error:
        fail(f"--slurm-config: {source} cannot be read: {error}", code=Exit.USAGE)
    except doctors.NotAConfiguration as error:
        fail(f"--slurm-config: {source}: {error}; give that.", code=Exit.USAGE)


def _show(results: Sequence[Result], form: str | None, *, whole: bool) -> None:
    if form is not None:
        emit(list(results), form)
    else:
        print_results(results, whole=whole)
